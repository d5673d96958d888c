// SPDX-License-Identifier: Apache-2.0
"use strict";
/* Small multiples: each line in a picture of its own with its band and its truth, all on the same axes, so that shapes
   can be compared and nothing lies over anything. Needs chart.js. */

const CELL = { wide: 210, tall: 128, head: 22, gap: 16 };  /* pixels: the least width, the height with its title, between two */

class Multiples extends Chart {
  get whole() { return true; }

  shown() { return this.listing().filter((c) => c.shown); }

  /** The height that these many lines need in a box of this width. */
  tall(w) {
    const columns = Math.max(1, Math.floor((w - 46) / CELL.wide));
    return Math.ceil(Math.max(1, this.shown().length) / columns) * CELL.tall + 56;
  }

  measured() {
    const extent = this.extent(), { w, first, span } = extent, { scale } = this, shown = this.shown();
    const axis = axisOf(scale, shown, this.since(first), this.log);
    this.back.font = `12px ${this.font}`;
    const widest = Math.max(...ticks(axis).map(([value, step]) => this.back.measureText(scale.write(value, step)).width));
    const left = Math.ceil(widest) + 14, columns = Math.max(1, Math.floor((w - 46) / CELL.wide));
    const column = (w - left - 8) / columns, width = Math.max(40, column - CELL.gap);
    return {
      ...extent, ...axis, left, column, columns, width, top: 22, height: CELL.tall - CELL.head - 14, pixels: width / span,
      count: shown.length,
    };
  }

  /** Do something in the picture of each line. */
  #each(work) {
    const whole = this.view, { left, top, column, columns } = whole;
    this.shown().forEach((category, k) => {
      const row = Math.floor(k / columns), at = k % columns;
      this.view = { ...whole, left: left + at * column, top: top + row * CELL.tall + CELL.head };
      work(category, at, row);
    });
    this.view = whole;
  }

  everything() {
    const { back: c, ink, scale, periods } = this, last = this.view.count - this.view.columns;
    for (const category of periods.categories.values()) category.dash = 0;
    titled(c, scale.title, ink);
    this.#each((category, at, row) => {
      const v = this.view, k = row * v.columns + at;
      this.#ruled(at === 0);
      c.font = `600 12px ${this.font}`; c.textAlign = "left"; c.textBaseline = "alphabetic"; c.fillStyle = this.colour(category);
      c.fillText(this.#fitting(category, v.width), v.left, v.top - 7); c.font = `12px ${this.font}`;
      for (const layer of [this.back, this.front]) { layer.save(); layer.beginPath(); layer.rect(v.left, v.top - 2, v.width + 2, v.height + 4); layer.clip(); }
      this.one(category, this.last ? Math.max(0, this.since(v.first)) : 0, periods.length);
      for (const layer of [this.back, this.front]) layer.restore();
      if (k >= last) this.#ends();
    });
  }

  /** A few lines across, with what they stand for before the first column. */
  #ruled(named) {
    const { back: c, view: v, ink, scale } = this, all = ticks(v), every = Math.ceil(all.length / 4);
    c.lineWidth = 1; c.textBaseline = "middle"; c.textAlign = "right";
    all.forEach(([value, step], k) => {
      if (k % every) return;
      const y = Math.round(this.y(value)) + 0.5;
      c.strokeStyle = k ? ink.grid : ink.rule; c.beginPath(); c.moveTo(v.left, y); c.lineTo(v.left + v.width, y); c.stroke();
      c.fillStyle = ink.soft;
      if (named) c.fillText(scale.write(value, step), v.left - 8, y);
    });
  }

  /** The first and the last instant below a column. */
  #ends() {
    const { back: c, view: v, ink, periods } = this, begin = periods.instant(v.first), end = begin + v.span * periods.everyMs;
    c.textBaseline = "top"; c.fillStyle = ink.soft;
    for (const [at, x, align] of [[begin, v.left, "left"], [end, v.left + v.width, "right"]]) {
      c.textAlign = align; c.fillText(clock(at, MINUTE) + (align === "right" ? " UTC" : ""), x, v.top + v.height + 6);
    }
  }

  #fitting(category, width) {
    let text = this.called(category);
    while (text.length > 4 && this.back.measureText(text).width > width) text = `${text.slice(0, -2)}\u2026`;
    return text;
  }

  nearest(x) {
    const { left, column, columns } = this.view, at = Math.max(0, Math.min(columns - 1, Math.floor((x - left) / column)));
    return super.nearest(x - at * column);
  }

  at(x, y) {
    const { left, top, column, columns } = this.view, row = Math.floor((y - top) / CELL.tall);
    const at = Math.floor((x - left) / column);
    return (row >= 0 && at >= 0 && at < columns && this.shown()[row * columns + at]) || null;
  }

  overlay() {
    const { top: c, view: { w, h }, periods } = this;
    c.clearRect(0, 0, w, h);
    if (!periods.length) return;
    this.#each((category) => {
      this.brushed();
      const x = this.upright(), y = x === null ? NaN : this.y(category.estimate[this.cursor]);
      if (y >= this.view.top && y <= this.view.top + this.view.height) this.point(c, category, x, y, periods.published[this.cursor]);
    });
  }
}
