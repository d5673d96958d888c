// SPDX-License-Identifier: Apache-2.0
"use strict";
/* A ranking: the largest of one period as bars, each with its error over its end and a tick for its truth. Needs
   picture.js. Which period is the slider's; it has no line of time. */

const RANKED = { most: 40, tall: 26, head: 26, foot: 34 };

class Ranking extends Picture {
  get whole() { return true; }

  get #at() { return this.cursor >= 0 ? this.cursor : this.periods.length - 1; }

  /** The categories of the period, the largest first. */
  #rows() {
    const i = this.#at, known = [...this.periods.categories.values()]
      .filter((c) => !Number.isNaN(c.estimate[i]) && c.name !== "none" && this.alike(c));
    return known.sort((a, b) => b.estimate[i] - a.estimate[i]).slice(0, RANKED.most);
  }

  /** Whether it can stand in the same ranking as the lines; a panel knows. */
  alike() { return true; }

  tall() { return Math.max(1, this.#rows().length) * RANKED.tall + RANKED.head + RANKED.foot; }

  measured() {
    const extent = this.extent(), { w, h } = extent, i = this.#at, { scale } = this;
    this.rows = this.#rows(); this.i = i;
    const reach = this.rows.reduce((most, c) => Math.max(most, c.estimate[i] + Math.min(2 * c.error[i] || 0, c.estimate[i]), c.truth[i] || 0), 1e-6);
    const least = Math.min(0, ...this.rows.map((c) => c.estimate[i]));
    const ends = { ends: () => [least, reach] };
    const axis = axisOf(ends, this.rows, 0, this.log);
    this.back.font = `700 12px ${this.font}`;
    const widest = Math.max(0, ...this.rows.map((c) => this.back.measureText(this.called(c)).width));
    const name = Math.min(w * 0.36, 190, widest + 18), right = 74;
    return {
      ...extent, ...axis, i, left: Math.ceil(name), top: RANKED.head, width: Math.max(40, w - name - right),
      height: h - RANKED.head - RANKED.foot, of: this.rows.map((c) => c.name).join("\n"), unit: scale.title,
    };
  }

  /** No point of it is a period. */
  nearest() { return -1; }

  at(x, y) { return this.rows?.[Math.floor((y - this.view.top) / RANKED.tall)] ?? null; }

  #across(value) { const v = this.view; return v.left + along(v, value) * v.width; }

  everything() {
    const { back: c, view: v, ink, scale } = this;
    upright(c, v, scale, ink, (value) => this.#across(value), 4);
    this.rows.forEach((category, k) => this.#row(category, k));
  }

  #row(category, k) {
    const { front: c, view: v, ink, scale, i } = this, y = v.top + k * RANKED.tall, middle = y + RANKED.tall / 2;
    const estimate = category.estimate[i], error = category.error[i], from = this.#across(Math.max(v.low, 0)), to = this.#across(estimate);
    const focus = category === this.focus;
    c.globalAlpha = this.pointed && !focus ? 0.4 : 1;
    c.fillStyle = category.slot < 0 ? ink.soft : this.colour(category);
    c.save(); c.globalAlpha *= focus ? 0.9 : 0.55;
    c.fillRect(Math.min(from, to), y + 5, Math.max(1, Math.abs(to - from)), RANKED.tall - 10); c.restore();
    const [low, high] = [-1, 1].map((sign) => Math.max(v.left, Math.min(v.left + v.width, this.#across(Math.max(v.low, estimate + sign * 2 * (error || 0))))));
    c.strokeStyle = ink.ink; c.lineWidth = 1.5;
    c.beginPath(); c.moveTo(low, middle); c.lineTo(high, middle);
    for (const x of [low, high]) { c.moveTo(x, middle - 4); c.lineTo(x, middle + 4); }
    c.stroke();
    if (!Number.isNaN(category.truth[i])) {
      const x = this.#across(category.truth[i]);
      c.save(); c.lineWidth = 2; c.setLineDash([3, 2]); c.beginPath(); c.moveTo(x, y + 2); c.lineTo(x, y + RANKED.tall - 2); c.stroke(); c.restore();
    }
    c.fillStyle = ink.ink; c.textBaseline = "middle"; c.textAlign = "right"; c.font = `${focus ? 700 : 400} 12px ${this.font}`;
    let text = this.called(category);
    while (text.length > 4 && c.measureText(text).width > v.left - 16) text = `${text.slice(0, -2)}\u2026`;
    c.fillText(text, v.left - 10, middle);
    c.textAlign = "left"; c.font = `600 12px ${this.font}`;
    c.fillText(scale.write(estimate, Math.min(v.step / 10, tenth((error || v.step) / 2))), v.left + v.width + 12, middle);
    c.globalAlpha = 1; c.font = `12px ${this.font}`;
  }

  overlay() { this.top.clearRect(0, 0, this.view.w, this.view.h); }
}
