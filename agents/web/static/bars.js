// SPDX-License-Identifier: Apache-2.0
"use strict";
/* A distribution as a picture: a bar for each stretch of one period, in the order of the range, with its error and the
   truth, on one canvas. "none" is no stretch and stands apart, in words. Needs axis.js and reading.js. */

const TICKS = 70;                                        /* pixels between two numbers below the bars */
const ROOMY = 5;                                         /* pixels from which on bars have a gap between them */

class Bars {
  constructor(box, periods, { range, names }) {
    this.box = box; this.periods = periods; this.range = range;
    this.canvas = box.querySelector("canvas").getContext("2d");
    this.stretches = names.filter((name) => name !== "none").map((name) => periods.categories.get(name));
    this.cursor = -1;                                    /* the stretch that is pointed at */
    this.font = getComputedStyle(box).fontFamily;
  }

  /** The stretch at a pixel. */
  nearest(pixel) {
    const { left, width } = this.view, n = this.stretches.length;
    return Math.max(0, Math.min(n - 1, Math.floor(((pixel - left) / width) * n)));
  }

  /** Draw a period in these colours. */
  draw(i, ink) {
    const { canvas: c, box } = this, w = box.clientWidth, h = box.clientHeight, ratio = window.devicePixelRatio || 1;
    const left = 46, top = 26, width = Math.max(40, w - left - 14), height = h - top - 26;
    this.ink = ink;
    this.view = { left, top, width, height, ...rounded(SHARES.ends(this.stretches, 0)) };
    if (c.canvas.width !== Math.round(w * ratio) || c.canvas.height !== Math.round(h * ratio)) {
      c.canvas.width = Math.round(w * ratio); c.canvas.height = Math.round(h * ratio);
    }
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, w, h);
    c.font = `12px ${this.font}`;
    ruled(c, this.view, SHARES, ink, (value) => this.#y(value));
    titled(c, SHARES.title, ink);
    this.#numbers();
    c.save(); c.beginPath(); c.rect(left, top, width, height); c.clip();
    this.stretches.forEach((stretch, k) => this.#bar(stretch, k, i));
    this.#truth(i);
    c.restore();
    if (this.cursor >= 0) this.#pointed();
  }

  #x(k) { return Math.round(this.view.left + (k / this.stretches.length) * this.view.width); }

  #y(share) { const v = this.view; return v.top + (1 - (share - v.low) / (v.high - v.low)) * v.height; }

  /** The numbers of the range, below the bars. */
  #numbers() {
    const { canvas: c, ink, view: v, range: [least, most] } = this, bottom = v.top + v.height;
    const wide = Math.max(...[least, most].map((end) => c.measureText(amount(end, 1)).width)) + 24;
    const wanted = (most - least) * Math.max(TICKS, wide) / v.width, power = 10 ** Math.floor(Math.log10(wanted));
    const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((s) => s >= wanted);
    c.textAlign = "center"; c.textBaseline = "top"; c.strokeStyle = ink.rule; c.fillStyle = ink.soft;
    for (let k = Math.ceil(least / step - 1e-9); k * step <= most + step * 1e-9; k++) {
      const x = Math.round(v.left + ((k * step - least) / (most - least)) * v.width) + 0.5;
      c.beginPath(); c.moveTo(x, bottom); c.lineTo(x, bottom + 5); c.stroke();
      const text = amount(k * step, step), room = c.measureText(text).width / 2;
      c.fillText(text, Math.min(x, v.left + v.width + 13 - room), bottom + 9);
    }
  }

  /** One bar: in the colour of its line where it has one, filled if published, pale if approximated; its error over it.
      Where several share a pixel, the highest is seen. */
  #bar({ estimate, error, shown, slot }, k, i) {
    const { canvas: c, ink, periods, view: v } = this, share = estimate[i];
    if (Number.isNaN(share)) return;
    const each = v.width / this.stretches.length, gap = each >= ROOMY ? 1 : 0;
    const x = this.#x(k) + gap, width = Math.max(1, this.#x(k + 1) - gap - x), y = this.#y(share), tall = this.#y(0) - y;
    c.fillStyle = c.strokeStyle = shown ? ink.lines[slot % COLOURS] : ink.soft;
    c.globalAlpha = each < 1 ? 1 : (periods.published[i] ? 0.75 : 0.3) * (shown ? 1 : 0.6);
    c.fillRect(x, y, width, tall);
    c.globalAlpha = shown ? 1 : 0.7; c.lineWidth = 1.5;
    if (gap) c.strokeRect(x + 0.75, y + 0.75, width - 1.5, Math.max(0, tall));
    c.fillStyle = ink.ink; c.globalAlpha = gap ? 0.22 : 0.12 * Math.min(1, each);
    const high = this.#y(share + 2 * error[i]), low = this.#y(Math.max(0, share - 2 * error[i])), inset = gap && width / 4;
    c.fillRect(x + inset, high, width - 2 * inset, low - high);
    c.globalAlpha = 1;
  }

  #truth(i) {
    const { canvas: c } = this;
    if (!this.periods.hasTruth) return;
    c.strokeStyle = this.ink.ink; c.lineWidth = 1.5; c.setLineDash([5, 4]);
    c.beginPath(); c.moveTo(this.#x(0), this.#y(0));
    this.stretches.forEach(({ truth }, k) => {
      const y = this.#y(truth[i]);
      c.lineTo(this.#x(k), y); c.lineTo(this.#x(k + 1), y);
    });
    c.stroke(); c.setLineDash([]);
  }

  #pointed() {
    const { canvas: c, view: v, cursor: k } = this;
    c.strokeStyle = this.ink.ink; c.lineWidth = 1; c.globalAlpha = 0.55;
    c.strokeRect(this.#x(k) + 0.5, v.top + 0.5, this.#x(k + 1) - this.#x(k) - 1, v.height - 1);
    c.globalAlpha = 1;
  }
}

/** The picture with its words: when it is, who has no value, and what the bar that is pointed at says. */
class Spread {
  /** `tell(category)` hears which stretch is pointed at, or null; `redraw()` asks for `fill`. */
  constructor(root, periods, spec, reading, { tell, redraw }) {
    this.root = root; this.periods = periods; this.reading = reading; this.tell = tell; this.redraw = redraw;
    const find = (selector) => root.querySelector(selector);
    this.box = find(".bars"); this.caption = find("figcaption"); this.line = find(".said");
    this.bars = new Bars(this.box, periods, spec);
    this.pinned = -1;                                    /* the stretch that stays chosen; -1: none */
    this.asked = true;                                   /* whether the reader has moved since the slider spoke */
    const { length } = this.bars.stretches;
    this.box.setAttribute("aria-valuemax", String(length - 1));
    this.box.setAttribute("aria-label", `${spec.name}: choose a stretch with the arrow keys`);
    const pick = (event) => this.#point(this.bars.nearest(event.clientX - this.box.getBoundingClientRect().left));
    this.box.addEventListener("pointermove", pick);
    this.box.addEventListener("pointerdown", (event) => { pick(event); this.pinned = this.bars.cursor; });
    this.box.addEventListener("pointerleave", () => this.#point(this.pinned));
    this.box.addEventListener("keydown", (event) => {
      const to = stepped(event, this.pinned, length);
      if (to === undefined) return;
      event.preventDefault();
      this.pinned = to; this.#point(to);
    });
    this.box.addEventListener("focus", () => { this.asked = true; this.redraw(); });
  }

  #point(k) {
    if (this.bars.cursor === k) return;
    this.bars.cursor = k; this.asked = true;
    this.tell(this.bars.stretches[k] || null); this.redraw();
  }

  /** Show a period, with values as this chart reads them. */
  fill(i, chart) {
    const { bars, periods, reading } = this, none = periods.categories.get("none"), record = periods.records[i];
    this.root.hidden = false;
    bars.draw(i, chart.ink);
    const known = !Number.isNaN(bars.stretches[0].estimate[i]);
    const apart = known ? none && reading.sentence(none, i, chart) : periods.nothing(i);
    this.caption.replaceChildren(make("b", reading.all), make("span", [span(record), apart].filter(Boolean).join("; ")));
    const chosen = bars.stretches[bars.cursor], told = chosen ? reading.sentence(chosen, i, chart) : "";
    write(this.line, told || "Point at a bar, or choose one with the arrow keys.");
    if (!this.asked) return;                             /* else every release would be read out */
    this.asked = false;
    this.box.setAttribute("aria-valuenow", String(Math.max(0, bars.cursor)));
    this.box.setAttribute("aria-valuetext", told || "No stretch chosen");
  }
}
