// SPDX-License-Identifier: Apache-2.0
"use strict";
/* Lines over time: the one in focus with its band and its truth, the others plain, each with its name at its end. The
   first figures stand on one period alone, and are dotted. Needs picture.js and periods.js. */

const DETAILED = 8;                                      /* up to so many lines have names at their ends */
const BANDED = 2;                                        /* so few lines all have their band */
const GAP = 8;                                           /* pixels between points that can be told apart */
const CLOSE = 28;                                        /* pixels within which a line is pointed at */

class Chart extends Picture {
  plain = false;                                         /* whether it has lines and nothing on them */

  /** The lines that have a band, points and truth. */
  banded() {
    const shown = this.shown();
    return shown.length <= BANDED ? shown : shown.filter((c) => c === this.focus);
  }

  /** The line that is pointed at: the nearest at the nearest period; null if none is near. */
  at(x, y) {
    const i = this.nearest(x);
    let found = null, near = CLOSE;
    for (const c of this.shown()) {
      const far = Math.abs(this.y(c.estimate[i]) - y);
      if (far < near) { near = far; found = c; }
    }
    return found;
  }

  measured() {
    const extent = this.extent(), { w, h, first, span } = extent, { scale } = this;
    const wide = w >= WIDE_PLOT, top = 30, right = wide ? 112 : 14, bottom = wide ? 46 : 58;
    const alone = this.periods.first >= 0 && this.periods.first === this.periods.length - 1;
    const axis = axisOf(alone ? this.#reach() : scale, this.shown(), this.since(first), this.log && !alone);
    this.back.font = `12px ${this.font}`;
    const widest = Math.max(...ticks(axis).map(([value, step]) => this.back.measureText(scale.write(value, step)).width));
    const left = Math.max(46, Math.ceil(widest) + 14), width = Math.max(40, w - left - right);
    return { ...extent, ...axis, left, top, width, height: h - top - bottom, pixels: width / span, alone };
  }

  /** A scale that holds the first figures with their errors. */
  #reach() {
    const i = this.periods.length - 1, known = this.shown().filter(({ estimate }) => !Number.isNaN(estimate[i]));
    const to = known.map(({ estimate, error }) => estimate[i] + 2 * (error[i] || 0));
    const from = known.map(({ estimate, error }) => estimate[i] - 2 * (error[i] || 0)), least = Math.min(...from);
    const high = Math.max(...to, 1e-6);
    return { ends: () => [this.scale.title === SHARES.title ? 0 : Math.min(least, high - 1e-6), high] };
  }

  everything() {
    this.marked = -Infinity;
    for (const c of this.periods.categories.values()) c.dash = 0;
    const { back: c, view: v, ink, scale } = this;
    ruled(c, v, scale, ink, (value) => this.y(value));
    titled(c, scale.title, ink);
    for (const { threshold, slot } of this.shown()) if (threshold >= v.low && threshold <= v.high) this.#level(threshold, slot);
    this.times();
    this.piece(0, this.periods.length);
  }

  /** A threshold: a dotted line in the colour of what is held against it. */
  #level(threshold, slot) {
    const { back: c, view: v } = this, at = Math.round(this.y(threshold)) + 0.5;
    c.save();
    c.strokeStyle = this.ink.lines[slot % COLOURS]; c.lineWidth = 1.5; c.setLineDash([1.5, 4]);
    c.beginPath(); c.moveTo(v.left, at); c.lineTo(v.left + v.width, at); c.stroke();
    c.restore();
  }

  /** Draw the periods from..to, joined to what stands before them. */
  piece(from, to) {
    const { view: v, periods } = this, shown = this.shown(), banded = new Set(this.banded());
    const start = this.last ? Math.max(0, this.since(v.first) - 1, from - 1) : Math.max(0, from - 1);
    for (const [c, room] of [[this.back, 0], [this.front, 6]]) {                    /* a point may stand over the edge */
      c.save(); c.beginPath(); c.rect(v.left - room, v.top - room, v.width + 2 * room, v.height + 2 * room); c.clip();
    }
    for (const c of shown) if (banded.has(c)) this.#band(c, start, to);
    for (const c of shown) if (c !== this.focus) this.#line(c, start, to, banded.has(c));
    if (this.focus?.shown) this.#line(this.focus, start, to, banded.has(this.focus));  /* over all others */
    if (v.alone) this.#first(shown); else if (!this.plain) this.#points([...banded], start, from, to);
    for (const c of [this.back, this.front]) c.restore();
    if (this.plain) return;
    this.front.fillStyle = this.ink.soft;                /* the strip: a bar for each published period */
    for (let i = Math.max(start, from); i < to; i++) {
      if (periods.published[i] && this.x(i) >= v.left) this.front.fillRect(this.x(i) - 0.75, v.top + v.height + 2, 1.5, 5);
    }
  }

  /** One line with all that belongs to it. */
  one(category, start, to) { this.#band(category, start, to); this.#line(category, start, to, true); }

  #line(category, start, to, banded) {
    const c = this.front, first = this.periods.unsure ?? -1, focus = category === this.focus;
    c.globalAlpha = this.pointed && !focus ? PALE : 1;
    c.strokeStyle = this.colour(category); c.lineJoin = "round";
    if (banded) this.#truth(category, start, to);
    c.lineWidth = focus ? 2.4 : 1.4;
    if (start <= first) {                                /* one period alone: no fact yet */
      c.save(); c.setLineDash([1.5, 4]); c.beginPath(); this.#trace(category.estimate, start, Math.min(to, first + 2)); c.stroke(); c.restore();
    }
    c.beginPath(); this.#trace(category.estimate, Math.max(start, first + 1), to); c.stroke();
    c.globalAlpha = 1;
  }

  #joined(i, start) { return i > start && this.periods.t[i] - this.periods.t[i - 1] === 1; }

  /** A line through values; many periods on one pixel become its lowest and highest. */
  #trace(values, start, to) {
    const c = this.front;
    let column = NaN, low = 0, high = 0, length = 0, px = NaN, py = NaN;
    for (let i = start; i < to; i++) {
      if (Number.isNaN(values[i])) { px = NaN; continue; }
      const x = this.x(i), y = this.y(values[i]);
      if (Number.isNaN(px) || !this.#joined(i, start)) { c.moveTo(x, y); column = x; low = high = y; }
      else if (x !== column || y < low || y > high) {
        if (x !== column) { c.lineTo(px, py); low = high = y; column = x; }
        c.lineTo(x, y); low = Math.min(low, y); high = Math.max(high, y);
      }
      if (!Number.isNaN(px)) length += Math.hypot(x - px, y - py);
      px = x; py = y;
    }
    return length;
  }

  #truth(category, start, to) {
    const c = this.front;
    c.save(); c.lineWidth = 1.5; c.setLineDash([5, 4]); c.lineDashOffset = category.dash % 9;
    c.beginPath(); category.dash += this.#trace(category.truth, start, to); c.stroke();
    c.restore();
  }

  #band(category, start, to) {
    const c = this.back, { estimate, error } = category;
    c.fillStyle = this.colour(category); c.globalAlpha = 0.17;
    for (let i = start; i < to;) {
      let end = i + 1;                                   /* one piece up to a missing period */
      while (end < to && this.#joined(end, start) && Number.isNaN(error[end]) === Number.isNaN(error[i])) end++;
      if (end - i > 1 && !Number.isNaN(error[i])) {
        c.beginPath();
        for (let k = i; k < end; k++) c.lineTo(this.x(k), this.y(estimate[k] + 2 * error[k]));
        for (let k = end - 1; k >= i; k--) c.lineTo(this.x(k), this.y(estimate[k] - 2 * error[k]));
        c.fill();
      }
      i = end;
    }
    c.globalAlpha = 1;
  }

  #points(shown, start, from, to) {
    const roomy = this.view.pixels >= GAP + 2, { published, unsure: first } = this.periods;
    for (let i = start; i < to; i++) {
      const x = this.x(i);
      const again = i < from && (roomy || x === this.marked);           /* the new line ran over its neighbour's point */
      if (!again && (i < from || !(roomy || (published[i] && x - this.marked >= GAP)))) continue;
      if (published[i] || !roomy) this.marked = x;
      for (const c of shown) {
        if (!Number.isNaN(c.estimate[i])) this.point(this.front, c, x, this.y(c.estimate[i]), published[i] && i !== first);
      }
    }
  }

  /** The first figures, while there are no others: points beside each other, each with its error. */
  #first(shown) {
    const { front: c, view: v, periods } = this, i = periods.length - 1, few = shown.slice(0, 2 * DETAILED);
    few.forEach((category, k) => {
      const { estimate, error } = category, x = Math.min(this.x(i), v.left + v.width - 14 * few.length) + 14 + 14 * k;
      if (Number.isNaN(estimate[i])) return;
      const [high, low] = [1, -1].map((sign) => this.y(estimate[i] + sign * 2 * error[i]));
      c.strokeStyle = this.colour(category); c.lineWidth = 1.5;
      c.beginPath(); c.moveTo(x, high); c.lineTo(x, low);
      for (const y of [high, low]) { c.moveTo(x - 4, y); c.lineTo(x + 4, y); }
      c.stroke();
      this.point(c, category, x, this.y(estimate[i]), false);
    });
  }

  /** The cursor, and the names at the ends of the lines. */
  overlay() {
    const { top: c, view: v, periods, ink } = this, n = periods.length, shown = this.shown();
    c.clearRect(0, 0, v.w, v.h);
    if (!n) return;
    this.brushed(); this.told();
    const at = this.upright();
    if (at !== null && shown.length <= DETAILED * 2) for (const s of shown) this.#ring(s, at);
    if (shown.length > DETAILED || v.alone) return;
    const x = this.x(n - 1), bottom = v.top + v.height;
    const ends = shown.filter((s) => !Number.isNaN(s.estimate[n - 1]))
      .map((s) => ({ s, y: this.y(s.estimate[n - 1]) })).sort((a, b) => b.y - a.y);
    for (const { s, y } of ends) if (y >= v.top - 1 && y <= bottom + 1) this.point(c, s, x, y, periods.published[n - 1]);
    if (v.w < WIDE_PLOT) return;
    c.textBaseline = "middle"; c.textAlign = "left"; c.lineJoin = "round";
    let free = bottom - 2;
    for (const { s, y: wanted } of ends) {               /* from the bottom up, none over another */
      const y = Math.max(v.top, Math.min(wanted, free)); free = y - 15;
      const called = this.called(s), text = called.length > 13 ? `${called.slice(0, 12)}\u2026` : called;
      c.font = `${s === this.focus ? 700 : 500} 12px ${this.font}`; c.globalAlpha = this.pointed && s !== this.focus ? 0.5 : 1;
      c.strokeStyle = ink.card; c.lineWidth = 4; c.strokeText(text, x + 10, y);
      c.fillStyle = this.colour(s); c.fillText(text, x + 10, y); c.globalAlpha = 1;
    }
  }

  #ring(category, x) {
    const c = this.top, { top, height } = this.view, y = this.y(category.estimate[this.cursor]);
    if (!(y >= top - 1 && y <= top + height + 1)) return;               /* not known, or beyond the axis */
    c.fillStyle = this.ink.card; c.beginPath(); c.arc(x, y, 6.5, 0, 7); c.fill();
    this.point(c, category, x, y, this.periods.published[this.cursor]);
  }
}
