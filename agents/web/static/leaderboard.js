// SPDX-License-Identifier: Apache-2.0
"use strict";
/* A leaderboard: the names that one period lists, the largest first, each with its band, its mark and since when it is
   there; rows slide to their new places. The curve of the one in focus stands below. Needs ranking.js, chart.js and
   discovery.js. */

const LEADERS = { most: 24, tall: 27, head: 30, foot: 32, rank: 26, mark: 18 };
const EASE_MS = 90;                                      /* how quickly rows slide: two thirds of the way in so long */
const STEP_MS = 50;                                      /* a slow screen does not jump further */
const MARKS = {                                          /* beside a name, around 0,0 */
  new: new Path2D("M0 -6L1.5 -1.9L5.7 -1.9L2.4 .8L3.5 4.9L0 2.5L-3.5 4.9L-2.4 .8L-5.7 -1.9L-1.5 -1.9z"),
  rose: new Path2D("M0 -4.6L4.8 3.8H-4.8z"), fell: new Path2D("M0 4.6L4.8 -3.8H-4.8z"),
};

class Leaderboard extends Picture {
  places = new Map();                                    /* where each row is just now */
  tallest = 1;                                           /* it never becomes shorter, so that the page stands still */
  moving = false;
  most = LEADERS.most;

  get whole() { return true; }

  /** The period of the rows. */
  get period() { return this.cursor >= 0 ? this.cursor : this.periods.length - 1; }

  /** What it shows are the names of its period. */
  shown() { return this.periods.length ? listedAt(this.periods, this.period) : []; }

  nearest() { return -1; }

  /** The row that is pointed at. */
  at(x, y) { return this.rows?.[Math.floor((y - this.view.top) / LEADERS.tall)] ?? null; }

  tall() {
    this.tallest = Math.max(this.tallest, Math.min(this.most, this.shown().length));
    return Math.max(4, this.tallest) * LEADERS.tall + LEADERS.head + LEADERS.foot;
  }

  draw() {
    if (this.moving) this.stale = true;
    super.draw();
  }

  measured() {
    const extent = this.extent(), { w, h } = extent, { period: i, scale } = this, wide = w >= WIDE_PLOT;
    this.rows = this.shown().slice(0, this.most);
    const limit = this.periods.length ? limitsAt(this.periods, i)?.above ?? null : null;
    const reach = this.rows.reduce((most, c) => Math.max(most, c.estimate[i] + 2 * (c.error[i] || 0), c.truth[i] || 0), limit ?? 1e-6);
    if (!(this.reach >= reach && this.reach < 2 * reach)) this.reach = Math.min(1, reach * 1.02);    /* else the axis would tremble */
    const axis = axisOf({ ends: () => [0, Math.max(reach, this.reach)] }, this.rows, 0, this.log);
    this.back.font = `700 12px ${this.font}`;
    const widest = Math.max(40, ...this.rows.map((c) => this.back.measureText(this.called(c)).width));
    const name = Math.min(wide ? w * 0.32 : w * 0.3, 230, widest + 14), left = Math.ceil(LEADERS.rank + LEADERS.mark + name);
    return {
      ...extent, ...axis, i, limit, wide, left, top: LEADERS.head, width: Math.max(40, w - left - (wide ? 152 : 62)),
      height: h - LEADERS.head - LEADERS.foot, of: this.rows.map((c) => c.name).join("\n"),
    };
  }

  #across(value) { const v = this.view; return v.left + Math.max(0, Math.min(1, along(v, value))) * v.width; }

  everything() {
    const { back: c, view: v, ink, scale } = this;
    upright(c, v, scale, ink, (value) => this.#across(value), 2);
    if (v.wide && this.rows.length) { c.textAlign = "left"; c.fillText("since, UTC", v.left + v.width + 80, 9); }
    this.#limit();
    if (!this.rows.length) this.#nothing();
    this.#slide();
    this.rows.forEach((category, k) => this.#row(category, k));
  }

  /** A period that lists no name says above which share. */
  #nothing() {
    const { front: c, view: v, ink } = this, said = this.periods.length ? foundSaid(this.periods, v.i) : "";
    const text = said && said[0].toUpperCase() + said.slice(1);
    c.font = `15px ${this.font}`;
    const width = c.measureText(text).width + 24, x = v.left + v.width / 2, y = v.top + v.height / 2;
    c.fillStyle = ink.card; c.fillRect(x - width / 2, y - 16, width, 32);
    c.textAlign = "center"; c.textBaseline = "middle"; c.fillStyle = ink.ink; c.fillText(text, x, y);
    c.font = `12px ${this.font}`;
  }

  /** The share above which new names are listed. */
  #limit() {
    const { back: c, view: v, ink } = this;
    if (!(v.limit > 0)) return;
    const x = Math.round(this.#across(v.limit)) + 0.5, text = "new names from here on", width = c.measureText(text).width;
    c.save(); c.strokeStyle = ink.soft; c.setLineDash([2, 3]); c.lineWidth = 1.5;
    c.beginPath(); c.moveTo(x, v.top - 8); c.lineTo(x, v.top + v.height); c.stroke(); c.restore();
    c.textBaseline = "middle"; c.textAlign = "left"; c.fillStyle = ink.soft;
    const at = Math.max(92, Math.min(x - 4, v.left + v.width - width));
    c.fillText(text, at, 9);
    c.beginPath(); c.moveTo(x - 4, v.top - 12); c.lineTo(x + 4, v.top - 12); c.lineTo(x, v.top - 6); c.closePath(); c.fill();
  }

  /** One step of every row towards its place. */
  #slide() {
    const now = performance.now(), { top } = this.view, before = this.places;
    const still = !before.size || matchMedia("(prefers-reduced-motion: reduce)").matches;
    const part = still ? 1 : 1 - Math.exp(-(this.moving ? Math.min(now - this.slidAt, STEP_MS) : STEP_MS / 3) / EASE_MS);
    this.slidAt = now; this.moving = false; this.places = new Map();
    this.rows.forEach(({ name }, k) => {
      const to = top + k * LEADERS.tall, from = before.get(name) ?? to + (still ? 0 : LEADERS.tall / 2);
      const y = Math.abs(to - from) < 0.5 ? to : from + part * (to - from);
      this.moving ||= y !== to;
      this.places.set(name, y);
    });
  }

  #row(category, k) {
    const { front: c, view: v, ink, scale } = this, { i } = v, y = this.places.get(category.name), middle = y + LEADERS.tall / 2;
    const estimate = category.estimate[i], error = category.error[i] || 0, focus = category === this.focus;
    const { mark, since, followed } = fate(this.periods, i, category.name);
    if (focus) { c.fillStyle = ink.grid; c.fillRect(0, y + 1, v.w, LEADERS.tall - 2); }
    c.globalAlpha = this.pointed && !focus ? 0.45 : 1;
    c.textBaseline = "middle"; c.fillStyle = ink.soft; c.textAlign = "right"; c.font = `12px ${this.font}`;
    c.fillText(String(k + 1), LEADERS.rank - 8, middle);
    c.fillStyle = ink.ink;
    if (mark) { c.translate(LEADERS.rank + 4, middle); c.fill(MARKS[mark]); c.translate(-LEADERS.rank - 4, -middle); }
    c.textAlign = "left"; c.font = `${focus || mark === "new" ? 700 : 400} 12px ${this.font}`;
    const from = LEADERS.rank + LEADERS.mark;
    c.fillText(shortened(this.called(category), v.left - from - 10, c), from, middle);
    this.#bar(category, { middle, estimate, error, followed, focus });
    c.fillStyle = ink.ink; c.textAlign = "left"; c.font = `600 12px ${this.font}`;
    c.fillText(scale.write(estimate, Math.min(v.step / 10, tenth((error || v.step) / 2))), v.left + v.width + 10, middle);
    c.font = `12px ${this.font}`; c.fillStyle = ink.soft;
    if (v.wide) c.fillText(began(this.periods, since, i), v.left + v.width + 80, middle);
    c.globalAlpha = 1;
  }

  /** Its band around the estimate; hollow where it is only followed. */
  #bar(category, { middle, estimate, error, followed, focus }) {
    const { front: c, view: v, ink } = this, tall = LEADERS.tall, whole = c.globalAlpha, { i } = v;
    const zero = this.#across(v.low), to = this.#across(estimate);
    const [low, high] = [-1, 1].map((sign) => this.#across(Math.max(v.low, estimate + sign * 2 * error)));
    c.fillStyle = c.strokeStyle = category.slot < 0 ? ink.soft : this.colour(category);
    c.globalAlpha = whole * (focus ? 0.95 : 0.7);
    if (followed) { c.lineWidth = 1.4; c.strokeRect(zero + 0.7, middle - 3, Math.max(1, to - zero - 0.7), 6); }
    else c.fillRect(zero, middle - 3.5, Math.max(1, to - zero), 7);
    c.globalAlpha = whole * (focus ? 0.38 : 0.24);
    c.fillRect(low, middle - tall / 2 + 4, Math.max(1, high - low), tall - 8);
    c.globalAlpha = whole; c.fillStyle = ink.ink;
    c.fillRect(to - 1, middle - tall / 2 + 4, 2, tall - 8);
    if (Number.isNaN(category.truth[i])) return;
    const x = this.#across(category.truth[i]);
    c.save(); c.strokeStyle = ink.ink; c.lineWidth = 2; c.setLineDash([3, 2]);
    c.beginPath(); c.moveTo(x, middle - tall / 2 + 1); c.lineTo(x, middle + tall / 2 - 1); c.stroke(); c.restore();
  }

  overlay() { this.top.clearRect(0, 0, this.view.w, this.view.h); }
}

/** The curve of one name, with gaps where it was not listed. */
class Course extends Chart {
  shown() { return this.focus ? [this.focus] : []; }

  /** A colour of its own where no line has given it one. */
  colour(category) { return category.slot < 0 ? this.ink.ink : super.colour(category); }
}

/** The figure below a leaderboard: the curve of the name in focus, on which a period can be chosen. */
class CourseFigure {
  /** `hover(i)` and `pin(i)` hear which period is pointed at and chosen, -1 for the newest. */
  constructor(figure, { hover, pin }) {
    this.figure = figure; this.box = figure.querySelector(".curve");
    this.title = figure.querySelector("b"); this.words = figure.querySelector("span");
    const at = (event) => (this.chart?.view ? this.chart.nearest(event.clientX - this.box.getBoundingClientRect().left) : -1);
    this.box.addEventListener("pointermove", (event) => hover(at(event)));
    this.box.addEventListener("pointerleave", () => hover(-1));
    this.box.addEventListener("pointerdown", (event) => pin(at(event)));
  }

  /** Draw the curve of the name in focus; `chart` is the leaderboard above, `anew` whether all of it has changed. */
  draw(panel, chart, anew) {
    const { periods, reading } = panel, { focus, period: i } = chart;
    this.figure.hidden = !focus;
    if (!focus) return;
    this.chart ??= new Course(this.box, periods, SHARES, colours);
    const own = this.chart, { slot } = focus;
    if (own.focus !== focus || own.slot !== slot || anew || own.last !== chart.last) own.stale = true;
    own.focus = focus; own.slot = slot; own.last = chart.last; own.log = chart.log; own.cursor = chart.cursor;
    own.draw();
    const { since, mark, followed } = fate(periods, i, focus.name), listed = since !== null;
    write(this.title, focus.name);
    const said = listed ? `${reading.text(focus, focus.estimate[i], own)} \u00b1 ${reading.text(focus, 2 * focus.error[i], own)}` : mark || "not listed in this period";
    write(this.words, [said, listed && mark, listed && followed && "followed", listed && `listed since ${began(periods, since, i)} UTC`].filter(Boolean).join(", "));
  }
}

/** A text that fits into so many pixels. */
function shortened(text, width, c) {
  let kept = text;
  while (kept.length > 3 && c.measureText(kept).width > width) kept = `${kept.slice(0, -2)}\u2026`;
  return kept;
}
