// SPDX-License-Identifier: Apache-2.0
"use strict";
/* What every picture of a stream has: three canvases (back: grid and grounds, front: figures, top: cursor and names), a
   line of time, a scale, a line in focus. A new release draws only its own piece where a picture can; everything is
   drawn again when axes, size, colours or the choice change. Needs axis.js; knows no page but its own box. */

const COLOURS = 8;
const SHAPES = [                                         /* one point each, around 0,0 */
  "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0z", "M-3.2 -3.2h6.4v6.4h-6.4z", "M0 -4.4L4.3 3.2H-4.3z",
  "M0 -4.9L4.9 0L0 4.9L-4.9 0z", "M0 4.4L4.3 -3.2H-4.3z", "M-1.3 -4.2h2.6v2.9h2.9v2.6h-2.9v2.9h-2.6v-2.9h-2.9v-2.6h2.9z",
  "M-4.6 -2h9.2v4h-9.2z", "M-4.4 0L3.2 4.3V-4.3z", "M4.4 0L-3.2 4.3V-4.3z",
];                                                       /* 8 and 9 have no common divisor: 72 signs that differ */
const POINTS = SHAPES.map((shape) => new Path2D(shape));
const PALE = 0.22;                                       /* how much of a line is left while another is pointed at */

/** The colours in force, for canvas. */
function colours() {
  const probe = make("span");
  document.body.append(probe);
  const read = (name) => { probe.className = name; return getComputedStyle(probe).color; };
  const found = { lines: Array.from({ length: COLOURS }, (_, k) => read(`c${k}`)) };
  for (const name of ["ink", "soft", "rule", "grid", "card"]) found[name] = read(name);
  probe.remove();
  return found;
}

class Picture {
  /** `scale` is what its figures are read on; `colours()` gives { ink, soft, rule, grid, card, lines }. */
  constructor(box, periods, scale, colours) {
    this.box = box; this.periods = periods; this.scale = scale; this.colours = colours;
    this.canvases = [...box.querySelectorAll("canvas")].map((canvas) => canvas.getContext("2d"));
    [this.back, this.front, this.top] = this.canvases;
    this.last = 0; this.log = false;                     /* periods in view, 0 for all */
    this.cursor = -1; this.brush = null;                 /* [from, to]: periods that are asked about */
    this.focus = null; this.pointed = false;             /* the one with its band; whether the others step back */
    this.stale = true; this.drawn = 0; this.fullDraws = 0;
    this.font = getComputedStyle(box).fontFamily;
    this.called = (c) => c.name;                         /* at the end of its line */
  }

  /** Whether it is drawn as a whole for each release, so that it is drawn less often. */
  get whole() { return false; }

  /** Whether its axis can be logarithmic. */
  get logs() { return true; }

  /** In which order lines are drawn and listed; a panel knows another one. */
  listing() { return [...this.periods.categories.values()]; }

  shown() { return [...this.periods.categories.values()].filter((c) => c.shown); }

  /** Draw what is new, or everything where something else has changed. */
  draw() {
    const n = this.periods.length, view = this.measured();
    const moved = !this.view || Object.keys(view).some((key) => view[key] !== this.view[key]);
    this.view = view;
    if (this.stale || moved || (this.whole && n > this.drawn)) {
      this.#cleared();
      this.everything();
    } else if (n > this.drawn) this.piece(this.drawn, n);
    this.drawn = n; this.stale = false;
    this.overlay();
  }

  /** Forget the pixels: a picture that is far from the window needs no memory. */
  release() {
    for (const { canvas } of this.canvases) canvas.width = canvas.height = 0;
    this.stale = true;
  }

  /** The index of the period nearest to a point. */
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

  y(value) { const v = this.view; return v.top + (1 - along(v, value)) * v.height; }

  /** The size of the box, and which periods are in view: the first one, and how many steps there are to the last. */
  extent() {
    const { t, expected, length } = this.periods;
    let first = length ? t[0] : 0, span = Math.max((expected || 0) - 1, 1);
    const past = length ? t[length - 1] - first : 0;
    if (this.last) { span = Math.max(1, this.last - 1); first += Math.max(0, past - span); }
    else while (span < past) span = expected ? span * 2 : Math.max(31, span * 2);
    return { w: this.box.clientWidth, h: this.box.clientHeight, ratio: window.devicePixelRatio || 1, first, span };
  }

  /** The index of the first period from t on. */
  since(first) { return this.last ? Math.max(0, this.periods.t.findIndex((t) => t >= first)) : 0; }

  #cleared() {
    const { w, h, ratio } = this.view;
    this.ink = this.colours(); this.fullDraws += 1;
    for (const c of this.canvases) {
      if (c.canvas.width !== Math.round(w * ratio) || c.canvas.height !== Math.round(h * ratio)) {
        c.canvas.width = Math.round(w * ratio); c.canvas.height = Math.round(h * ratio);
      }
      c.setTransform(ratio, 0, 0, ratio, 0, 0);
      c.clearRect(0, 0, w, h);
      c.font = `12px ${this.font}`;
    }
  }

  colour(category) { return this.ink.lines[category.slot % COLOURS]; }

  /** One point: filled if published, hollow if approximated. */
  point(c, category, x, y, full) {
    const shape = POINTS[Math.max(0, category.slot) % SHAPES.length], colour = this.colour(category);
    c.globalAlpha = this.pointed && this.focus !== category ? PALE : 1;
    c.translate(x, y);
    c.fillStyle = full ? colour : this.ink.card; c.fill(shape);
    if (!full) { c.lineWidth = 1.4; c.strokeStyle = colour; c.stroke(shape); }
    c.translate(-x, -y); c.globalAlpha = 1;
  }

  /** Times below, and a mark for each event above. */
  times() {
    const { view: v, periods, ink, back: c } = this;
    if (!periods.length) return;
    const begin = periods.instant(v.first);
    timed(c, v, begin, begin + v.span * periods.everyMs, ink);
  }

  /** The stretch that is asked about. */
  brushed() {
    const { top: c, view: v, periods } = this;
    if (!this.brush) return;
    const [from, to] = this.brush.map((i) => this.x(Math.min(i, periods.length - 1))), half = Math.max(2, v.pixels / 2);
    const left = Math.max(v.left, from - half), right = Math.min(v.left + v.width, to + half);
    c.fillStyle = this.ink.ink; c.globalAlpha = 0.12; c.fillRect(left, v.top, right - left, v.height); c.globalAlpha = 1;
  }

  /** A small mark at the top of each period of which there is something to tell. */
  told() {
    const { top: c, view: v, periods } = this;
    c.fillStyle = this.ink.ink;
    for (const { i } of periods.events?.marks ?? []) {
      if (periods.t[i] < v.first) continue;
      const x = this.x(i);
      c.beginPath(); c.moveTo(x - 4.5, v.top - 6); c.lineTo(x + 4.5, v.top - 6); c.lineTo(x, v.top + 2); c.closePath(); c.fill();
    }
  }

  /** The period that is pointed at: whether it is in view, and where. */
  upright() {
    const { top: c, view: v, periods, cursor } = this;
    if (!(cursor >= 0 && cursor < periods.length && periods.t[cursor] >= v.first)) return null;
    const x = this.x(cursor);
    c.strokeStyle = this.ink.ink; c.lineWidth = 1; c.globalAlpha = 0.55;
    c.beginPath(); c.moveTo(Math.round(x) + 0.5, v.top); c.lineTo(Math.round(x) + 0.5, v.top + v.height + 8); c.stroke();
    c.globalAlpha = 1;
    return x;
  }
}
