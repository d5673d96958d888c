// SPDX-License-Identifier: Apache-2.0
"use strict";
/* A heat map: a distribution over time. A column for each period, a cell for each stretch of the range from below to
   above, darker where more users are; what cannot be told from nobody is paler. Needs picture.js. */

const SHADES = 64;                                       /* steps of the ramp */
const UNSURE = 0.45;                                     /* how strong a cell is that is below two standard errors */

/** Numbers of a colour that a style has computed. */
const parts = (colour) => colour.match(/[\d.]+/g).slice(0, 3).map(Number);

class HeatMap extends Picture {
  constructor(box, periods, scale, colours, spec) {
    super(box, periods, scale, colours);
    this.range = spec.range; this.unit = spec.unit || "";
    this.stretches = spec.names.filter((name) => name !== "none").map((name) => periods.categories.get(name));
  }

  get logs() { return false; }

  measured() {
    const extent = this.extent(), { w, h, span } = extent, wide = w >= WIDE_PLOT, [least, most] = this.range;
    const axis = rounded([least, most]).step, right = wide ? 112 : 14, bottom = wide ? 46 : 58, top = 30;
    this.back.font = `12px ${this.font}`;
    const widest = Math.max(...[least, most].map((end) => this.back.measureText(amount(end, axis)).width));
    const left = Math.max(46, Math.ceil(widest) + 14), width = Math.max(40, w - left - right);
    const { high: peak, step } = rounded([0, this.stretches.reduce((high, c) => Math.max(high, c.high), 1e-3)]);
    return {
      ...extent, low: least, high: most, each: axis, step, left, top, width, height: h - top - bottom,
      span: span + 1, pixels: width / (span + 1), peak,
    };
  }

  /** The left edge of a period's column. */
  #left(i) { const v = this.view; return Math.round((v.left + ((this.periods.t[i] - v.first) / v.span) * v.width) * v.ratio) / v.ratio; }

  x(i) { return this.#left(i) + this.view.pixels / 2; }

  nearest(pixel) { return super.nearest(pixel - this.view.pixels / 2); }

  /** The stretch at a height. */
  at(x, y) {
    const { top, height } = this.view, k = Math.floor((1 - (y - top) / height) * this.stretches.length);
    return this.stretches[k] ?? null;
  }

  #shade(share) {
    return this.ramp[Math.round(Math.max(0, Math.min(1, share / this.view.peak)) * SHADES)];
  }

  everything() {
    const { back: c, view: v, ink } = this, stops = [ink.card, ink.lines[0], ink.ink].map(parts);
    this.ramp = Array.from({ length: SHADES + 1 }, (_, k) => {
      const at = (k / SHADES) * 2, from = stops[Math.min(1, Math.floor(at))], to = stops[Math.min(2, Math.floor(at) + 1)], rest = at - Math.min(1, Math.floor(at));
      return `rgb(${from.map((value, j) => Math.round(value + (to[j] - value) * Math.min(1, rest))).join()})`;
    });
    c.lineWidth = 1; c.textBaseline = "middle"; c.textAlign = "right"; c.fillStyle = ink.soft; c.strokeStyle = ink.rule;
    for (let value = Math.ceil(v.low / v.each - 1e-9) * v.each; value <= v.high + v.each * 1e-6; value += v.each) {
      c.fillText(amount(value, v.each), v.left - 8, this.y(value));
    }
    c.strokeRect(v.left - 0.5, v.top - 0.5, v.width + 1, v.height + 1);
    titled(c, this.unit || "value", ink);
    this.times();
    if (v.w >= WIDE_PLOT) this.#key();
    this.piece(0, this.periods.length);
  }

  /** The ramp, with the shares at its ends. */
  #key() {
    const { back: c, view: v, ink } = this, left = v.left + v.width + 18, tall = Math.min(140, v.height - 40);
    for (let k = 0; k <= SHADES; k++) {
      c.fillStyle = this.ramp[k]; c.fillRect(left, v.top + 22 + tall * (1 - (k + 1) / (SHADES + 1)), 14, tall / (SHADES + 1) + 1);
    }
    c.strokeStyle = ink.rule; c.strokeRect(left - 0.5, v.top + 21.5, 15, tall + 1);
    c.textAlign = "left"; c.fillStyle = ink.soft; c.fillText("share of users", left - 6, v.top + 6);
    c.fillText(percent(v.peak, v.peak / 10), left + 20, v.top + 26); c.fillText("0", left + 20, v.top + 18 + tall);
  }

  piece(from, to) {
    const { front: c, view: v } = this, n = this.stretches.length, group = Math.max(1, Math.ceil(n / v.height));
    for (let i = from; i < to; i++) {
      const left = this.#left(i), width = Math.max(1 / v.ratio, this.#right(i) - left);
      if (left < v.left - 0.5) continue;
      for (let k = 0; k < n; k += group) {
        let share = NaN, error = 0;
        for (let j = k; j < Math.min(n, k + group); j++) {
          const one = this.stretches[j].estimate[i];
          if (!Number.isNaN(one) && !(one <= share)) { share = one; error = this.stretches[j].error[i]; }
        }
        if (Number.isNaN(share)) continue;
        const low = Math.round(this.#row(k)), high = Math.round(this.#row(Math.min(n, k + group)));
        c.globalAlpha = share < 2 * error ? UNSURE : 1;
        c.fillStyle = this.#shade(share); c.fillRect(left, high, width, low - high);
      }
      c.globalAlpha = 1; c.fillStyle = this.ink.soft;    /* the strip: a bar for each published period */
      if (this.periods.published[i]) c.fillRect(left + width / 2 - 0.75, v.top + v.height + 2, 1.5, 5);
    }
  }

  #right(i) {
    const { t } = this.periods, v = this.view;
    return Math.round((v.left + ((t[i] + 1 - v.first) / v.span) * v.width) * v.ratio) / v.ratio;
  }

  #row(k) { const v = this.view; return v.top + (1 - k / this.stretches.length) * v.height; }

  overlay() {
    const { top: c, view: v, ink } = this;
    c.clearRect(0, 0, v.w, v.h);
    if (!this.periods.length) return;
    this.brushed(); this.told(); this.upright();
    const k = this.stretches.indexOf(this.focus);
    if (k < 0 || !this.pointed) return;
    c.strokeStyle = ink.ink; c.lineWidth = 1.5;
    c.strokeRect(v.left, this.#row(k + 1), v.width, this.#row(k) - this.#row(k + 1));
  }
}
