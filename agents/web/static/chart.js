// SPDX-License-Identifier: Apache-2.0
"use strict";
/* The picture of a stream's Periods on three canvases: back (grid, bands), front (truth, lines, points) and top (cursor,
   names). A new release draws only its own piece; everything is drawn again when the axes, the size, the colours or
   the choice of categories change. Needs periods.js and reading.js; knows no HTTP and no page but its own box. */

const COLOURS = 8;
const SHAPES = [                                         /* one point each, around 0,0 */
  "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0z", "M-3.2 -3.2h6.4v6.4h-6.4z", "M0 -4.4L4.3 3.2H-4.3z",
  "M0 -4.9L4.9 0L0 4.9L-4.9 0z", "M0 4.4L4.3 -3.2H-4.3z", "M-1.3 -4.2h2.6v2.9h2.9v2.6h-2.9v2.9h-2.6v-2.9h-2.9v-2.6h2.9z",
  "M-4.6 -2h9.2v4h-9.2z", "M-4.4 0L3.2 4.3V-4.3z", "M4.4 0L-3.2 4.3V-4.3z",
];                                                       /* 8 and 9 have no common divisor: 72 signs that differ */
const POINTS = SHAPES.map((shape) => new Path2D(shape));
const DETAILED = 8;                                      /* up to so many lines have bands, truth and names at their ends */
const GAP = 8;                                           /* pixels between points that can be told apart */
const STEPS = [1e3, 5e3, 15e3, 3e4, MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE,
  HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 28 * DAY, 91 * DAY, 364 * DAY];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Lines across a picture at every step of its scale, and what each stands for. */
function ruled(c, view, { write }, ink, y) {
  c.lineWidth = 1; c.textBaseline = "middle"; c.textAlign = "right";
  for (let k = 0; view.low + k * view.step <= view.high + view.step / 2; k++) {
    const value = view.low + k * view.step, at = Math.round(y(value)) + 0.5;
    c.strokeStyle = Math.abs(value) < view.step / 2 ? ink.rule : ink.grid;
    c.beginPath(); c.moveTo(view.left, at); c.lineTo(view.left + view.width, at); c.stroke();
    c.fillStyle = ink.soft; c.fillText(write(value, view.step), view.left - 8, at);
  }
}

/** The picture. `scale` is what its lines are read on; `colours()` gives { ink, soft, rule, grid, card, lines }. */
class Chart {
  constructor(box, periods, scale, colours) {
    this.box = box; this.periods = periods; this.scale = scale; this.colours = colours;
    [this.back, this.front, this.top] = [...box.querySelectorAll("canvas")].map((canvas) => canvas.getContext("2d"));
    this.last = 0;                                       /* periods in view, 0 for all */
    this.cursor = -1; this.focus = null; this.brush = null;  /* [from, to]: periods that are asked about */
    this.stale = true; this.drawn = 0; this.fullDraws = 0;
    this.font = getComputedStyle(box).fontFamily;
    this.called = (c) => c.name;                         /* at the end of its line */
  }

  shown() { return [...this.periods.categories.values()].filter((c) => c.shown); }

  /** Draw what is new, or everything where something else has changed. */
  draw() {
    const n = this.periods.length, view = this.#view();
    const moved = !this.view || Object.keys(view).some((key) => view[key] !== this.view[key]);
    this.view = view;
    if (this.stale || moved) this.#everything();
    else if (n > this.drawn) this.#paint(this.drawn, n);
    this.drawn = n; this.stale = false;
    this.#overlay();
  }

  /** The index of the period nearest to a pixel. */
  nearest(pixel) {
    const { t } = this.periods, wanted = this.view.first + ((pixel - this.view.left) / this.view.width) * this.view.span;
    let low = 0, high = t.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (t[middle] < wanted) low = middle + 1; else high = middle;
    }
    return low > 0 && wanted - t[low - 1] < t[low] - wanted ? low - 1 : low;
  }

  /** On a whole pixel of the screen, so that neighbouring bands meet without a seam. */
  x(i) {
    const v = this.view;
    return Math.round((v.left + ((this.periods.t[i] - v.first) / v.span) * v.width) * v.ratio) / v.ratio;
  }

  y(value) { const v = this.view; return v.top + (1 - (value - v.low) / (v.high - v.low)) * v.height; }

  #view() {
    const { t, expected, length } = this.periods, { scale } = this;
    const w = this.box.clientWidth, h = this.box.clientHeight, ratio = window.devicePixelRatio || 1;
    const top = scale.unit ? 28 : 12, right = w >= 560 ? 104 : 14, bottom = 46;
    let first = length ? t[0] : 0, span = Math.max((expected || 0) - 1, 1);
    const past = length ? t[length - 1] - first : 0;
    if (this.last) { span = Math.max(1, this.last - 1); first += Math.max(0, past - span); }
    else while (span < past) span = expected ? span * 2 : Math.max(31, span * 2);
    const { low, high, step } = rounded(scale.ends(this.shown(), this.#since(first)));
    this.back.font = `12px ${this.font}`;
    const widest = Math.max(...[low, high].map((value) => this.back.measureText(scale.write(value, step)).width));
    const left = Math.max(46, Math.ceil(widest) + 14);
    const pixels = (w - left - right) / span;            /* from one period to the next */
    const width = Math.max(40, w - left - right), height = h - top - bottom;
    return { w, h, ratio, left, top, width, height, first, span, low, high, step, pixels };
  }

  #everything() {
    const { w, h, ratio } = this.view, ink = this.colours();
    for (const c of [this.back, this.front, this.top]) {
      if (c.canvas.width !== Math.round(w * ratio) || c.canvas.height !== Math.round(h * ratio)) {
        c.canvas.width = Math.round(w * ratio); c.canvas.height = Math.round(h * ratio);
      }
      c.setTransform(ratio, 0, 0, ratio, 0, 0);
      c.clearRect(0, 0, w, h);
    }
    this.ink = ink; this.fullDraws += 1; this.marked = -Infinity;
    for (const c of this.periods.categories.values()) c.dash = 0;
    this.#axes();
    this.#paint(0, this.periods.length);
  }

  #axes() {
    const { back: c, view: v, ink, scale } = this, bottom = v.top + v.height;
    c.font = `12px ${this.font}`;
    ruled(c, v, scale, ink, (value) => this.y(value));
    if (scale.unit) { c.textAlign = "left"; c.fillText(scale.unit, 0, 8); }
    for (const { threshold, slot } of this.shown()) if (threshold >= v.low && threshold <= v.high) this.#level(threshold, slot);
    if (!this.periods.length) return;
    const { everyMs } = this.periods, begin = this.periods.instant(v.first), end = begin + v.span * everyMs;
    const room = (v.w >= 560 ? 78 : 58) / (v.width / Math.max(1, end - begin));
    const step = STEPS.find((s) => s >= room) || STEPS.at(-1) * Math.ceil(room / STEPS.at(-1));
    c.textAlign = "center"; c.textBaseline = "top"; c.strokeStyle = ink.rule;
    for (let at = Math.ceil(begin / step) * step; at <= end; at += step) {
      const x = Math.round(v.left + ((at - begin) / (end - begin)) * v.width) + 0.5;
      c.beginPath(); c.moveTo(x, bottom + 9); c.lineTo(x, bottom + 14); c.stroke();
      c.fillText(Chart.clock(at, step), x, bottom + 18);
    }
    if (v.w >= 560) { c.textAlign = "left"; c.fillText("UTC", v.left + v.width + 16, bottom + 18); }
  }

  /** A threshold: a dotted line in the colour of what is held against it. */
  #level(threshold, slot) {
    const { back: c, view: v } = this, at = Math.round(this.y(threshold)) + 0.5;
    c.save();
    c.strokeStyle = this.ink.lines[slot % COLOURS]; c.lineWidth = 1.5; c.setLineDash([1.5, 4]);
    c.beginPath(); c.moveTo(v.left, at); c.lineTo(v.left + v.width, at); c.stroke();
    c.restore();
  }

  /** An instant as an axis writes it. */
  static clock(at, step) {
    const iso = new Date(at).toISOString();
    if (step >= DAY || at % DAY === 0) return `${Number(iso.slice(8, 10))} ${MONTHS[Number(iso.slice(5, 7)) - 1]}`;
    return step < MINUTE ? iso.slice(11, 19) : iso.slice(11, 16);
  }

  /** Draw the periods from..to, joined to what stands before them. */
  #paint(from, to) {
    const { view: v, periods } = this, shown = this.shown(), few = shown.length <= DETAILED;
    const start = this.last ? Math.max(0, this.#since(v.first) - 1, from - 1) : Math.max(0, from - 1);
    for (const [c, room] of [[this.back, 0], [this.front, 6]]) {                    /* a point may stand over the edge */
      c.save(); c.beginPath(); c.rect(v.left - room, v.top - room, v.width + 2 * room, v.height + 2 * room); c.clip();
    }
    for (const c of shown) if (few || c === this.focus) this.#band(c, start, to);
    for (const c of shown) {
      this.front.globalAlpha = this.focus && this.focus !== c ? 0.22 : 1;
      this.front.strokeStyle = this.ink.lines[c.slot % COLOURS];
      if (few || c === this.focus) this.#truth(c, start, to);
      this.front.lineWidth = shown.length > 16 && c !== this.focus ? 1.2 : 2;
      this.front.lineJoin = "round";
      this.front.beginPath(); this.#trace(c.estimate, start, to); this.front.stroke();
    }
    this.front.globalAlpha = 1;
    this.#points(shown, start, from, to);
    for (const c of [this.back, this.front]) c.restore();
    this.front.fillStyle = this.ink.soft;                /* the strip: a bar for each published period */
    for (let i = Math.max(start, from); i < to; i++) {
      if (periods.published[i] && this.x(i) >= v.left) this.front.fillRect(this.x(i) - 0.75, v.top + v.height + 2, 1.5, 5);
    }
  }

  /** The index of the first period from t on. */
  #since(first) { return this.last ? Math.max(0, this.periods.t.findIndex((t) => t >= first)) : 0; }

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
    c.fillStyle = this.ink.lines[category.slot % COLOURS]; c.globalAlpha = 0.16;
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
    const roomy = this.view.pixels >= GAP + 2, { published } = this.periods;
    for (let i = start; i < to; i++) {
      const x = this.x(i);
      const again = i < from && (roomy || x === this.marked);           /* the new line ran over its neighbour's point */
      if (!again && (i < from || !(roomy || (published[i] && x - this.marked >= GAP)))) continue;
      if (published[i] || !roomy) this.marked = x;
      for (const c of shown) {
        if (!Number.isNaN(c.estimate[i])) this.point(this.front, c, x, this.y(c.estimate[i]), published[i]);
      }
    }
  }

  /** One point: filled if published, hollow if approximated. */
  point(c, category, x, y, full) {
    const shape = POINTS[category.slot % SHAPES.length], colour = this.ink.lines[category.slot % COLOURS];
    c.globalAlpha = this.focus && this.focus !== category ? 0.22 : 1;
    c.translate(x, y);
    c.fillStyle = full ? colour : this.ink.card; c.fill(shape);
    if (!full) { c.lineWidth = 1.4; c.strokeStyle = colour; c.stroke(shape); }
    c.translate(-x, -y); c.globalAlpha = 1;
  }

  /** The cursor and the names at the ends of the lines. */
  #overlay() {
    const { top: c, view: v, periods, ink } = this, n = periods.length, shown = this.shown();
    c.clearRect(0, 0, v.w, v.h);
    if (!n) return;
    if (this.brush) {
      const [from, to] = this.brush.map((i) => this.x(Math.min(i, n - 1))), half = Math.max(2, v.pixels / 2);
      const left = Math.max(v.left, from - half), right = Math.min(v.left + v.width, to + half);
      c.fillStyle = ink.ink; c.globalAlpha = 0.12; c.fillRect(left, v.top, right - left, v.height); c.globalAlpha = 1;
    }
    if (this.cursor >= 0 && this.cursor < n && periods.t[this.cursor] >= v.first) {
      const x = this.x(this.cursor);
      c.strokeStyle = ink.ink; c.lineWidth = 1; c.globalAlpha = 0.55;
      c.beginPath(); c.moveTo(Math.round(x) + 0.5, v.top); c.lineTo(Math.round(x) + 0.5, v.top + v.height + 8); c.stroke();
      c.globalAlpha = 1;
      if (shown.length <= DETAILED * 2) for (const s of shown) this.#ring(s, x);
    }
    if (v.w < 560 || shown.length > DETAILED) return;
    const x = this.x(n - 1) + 10, bottom = v.top + v.height;
    const ends = shown.filter((s) => !Number.isNaN(s.estimate[n - 1]))
      .map((s) => ({ s, y: this.y(s.estimate[n - 1]) })).sort((a, b) => b.y - a.y);
    c.font = `600 12px ${this.font}`; c.textBaseline = "middle"; c.textAlign = "left"; c.lineJoin = "round";
    let free = bottom - 2;
    for (const end of ends) {                            /* from the bottom up, none over another */
      const y = Math.max(v.top, Math.min(end.y, free)); free = y - 14;
      const called = this.called(end.s), text = called.length > 13 ? `${called.slice(0, 12)}\u2026` : called;
      c.strokeStyle = ink.card; c.lineWidth = 4; c.strokeText(text, x, y);
      c.fillStyle = ink.lines[end.s.slot % COLOURS]; c.fillText(text, x, y);
    }
  }

  #ring(category, x) {
    const c = this.top, { top, height } = this.view, y = this.y(category.estimate[this.cursor]);
    if (!(y >= top - 1 && y <= top + height + 1)) return;               /* not known, or beyond the axis */
    c.fillStyle = this.ink.card; c.beginPath(); c.arc(x, y, 6.5, 0, 7); c.fill();
    this.point(c, category, x, y, this.periods.published[this.cursor]);
  }
}
