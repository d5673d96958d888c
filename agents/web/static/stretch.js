// SPDX-License-Identifier: Apache-2.0
"use strict";
/* Questions about stretches of time: a drag over the chart (or the space bar, arrows, the space bar) asks the server for
   what the stream says over it, and a stream that can be summed has its total so far below the chart. Both are answered
   by /query from the releases alone. A page from disk has no server: it says which command answers. Needs the files
   before it; panel.js makes one of these for each stream. */

const DRAGGED = 6;                                       /* pixels from which a press is a drag */
const ASK_MS = 1000;                                     /* the total is asked for at most so often */
const PIECES = 240;                                      /* most pieces of a running total */
const TOLD = 6;                                          /* most statistics that an answer says */

const served = () => !document.getElementById("frames");

/** The answer to a question, or the line that refuses it. */
async function ask(question, running = false) {
  const response = await fetch(`query?${new URLSearchParams({ q: question, ...(running && { running: "1" }) })}`);
  const said = await response.json();
  if (!response.ok) throw new Error(said.error);
  return said;
}

/** A number with what it is sure of: "12 345 \u00b1 246 EUR", the band being two standard errors. */
function sure({ value, stderr }, unit) {
  if (value === null) return "not known";
  const share = unit === null, say = share ? percent : amount, behind = share || !unit ? "" : ` ${unit}`;
  const step = Math.min(share ? 1e-3 : Infinity, tenth((stderr || Math.abs(value) / 100 || 1) / 5));
  const text = say(value, Math.max(step, 1e-6));
  return stderr === null ? `${text}${behind}, error not in the releases` : `${text} \u00b1 ${say(2 * stderr, Math.max(step, 1e-6))}${behind}`;
}

/** Totals so far as the columns that a Chart draws. */
class Totals {
  constructor(everyMs) { this.everyMs = everyMs; this.expected = null; this.first = -1; this.take([]); }

  take(rows) {
    const known = rows.filter(({ value }) => value !== null);
    this.t = known.map(({ to }) => Date.parse(to) / this.everyMs - 1);
    this.t.forEach((t, i) => { if (i) this.t[i] = Math.max(t, this.t[i - 1]); });
    this.published = known.map((_, i) => i === known.length - 1);
    const line = {
      name: "total", slot: 0, shown: true, dash: 0, threshold: NaN, least: Infinity,
      estimate: known.map(({ value }) => value), error: known.map(({ stderr }) => stderr ?? NaN), truth: known.map(() => NaN),
    };
    this.categories = new Map([["total", line]]);
    if (this.length > 1) this.expected = this.t.at(-1) - this.t[0] + 1;
  }

  get length() { return this.t.length; }

  instant(t) { return t * this.everyMs; }
}

/** The scale of a total: from zero, unless it is below zero somewhere. */
class TotalScale extends Numbers {
  ends(shown, from) {
    const [low, high] = super.ends(shown, from);
    return [shown.some(({ estimate }) => estimate.some((value) => value < 0)) ? low : 0, high];
  }
}

/** The brush of one stream, and its running total. */
class Stretch {
  constructor(panel, find) {
    const { spec, plot } = panel;
    this.panel = panel; this.spec = spec; this.answer = find(".answer"); this.figure = find(".running");
    this.from = -1; this.x = 0; this.asked = 0; this.stale = false; this.waiting = false; this.askedAt = -Infinity;
    if (!spec.running || !served()) this.figure.remove();
    if (!spec.asked) return;
    plot.addEventListener("pointerdown", (event) => this.#press(event), true);
    plot.addEventListener("pointermove", (event) => this.#drag(event));
    plot.addEventListener("pointerup", () => this.#release());
    plot.addEventListener("pointercancel", () => { this.from = -1; });
    plot.addEventListener("keydown", (event) => this.#key(event));
    if (!spec.running || !served()) return;
    this.figure.hidden = false;
    const box = this.figure.querySelector(".total");
    this.totals = new Totals(spec.every_ms);
    this.scale = new TotalScale(null, spec.unit ?? "events");
    this.chart = new Chart(box, this.totals, this.scale, colours); this.chart.plain = true;
    new ResizeObserver(() => { this.chart.stale = true; this.draw(); }).observe(box);
  }

  /** There is a new release: ask for the total once it is time. */
  grow() {
    this.stale = true;
    if (!this.chart || this.waiting) return;
    this.waiting = true;
    setTimeout(() => this.#total(), Math.max(0, this.askedAt + ASK_MS - performance.now()));
  }

  async #total() {
    const { periods } = this.panel, n = periods.length;
    this.stale = false; this.askedAt = performance.now();
    const pieces = Math.ceil((periods.t[n - 1] - periods.t[0] + 1) / PIECES);
    const over = this.#stretch(0, n - 1), piece = every(pieces * this.spec.every_ms);
    try {
      const { rows } = await ask(`${this.spec.asked} of ${this.spec.name} over ${over} every ${piece}`, true);
      this.totals.take(rows);
      this.chart.shown()[0].slot = this.panel.periods.categories.get(this.spec.main)?.slot ?? 0;
      const last = rows.at(-1), since = rows.find(({ covered }) => covered)?.covered[0];
      const unit = this.spec.unit ?? "events";
      write(this.figure.querySelector("span"), since ? `since ${this.#when(since)} UTC: ${sure(last, unit)}` : "not known yet");
      [this.chart.focus] = this.chart.shown(); this.chart.stale = true; this.draw();
    } catch (error) { write(this.figure.querySelector("span"), error.message); }
    this.waiting = false;
    if (this.stale) this.grow();
  }

  draw() {
    if (!this.chart || !this.chart.box.clientWidth) return;
    if (this.panel.chart.stale) this.chart.stale = true;
    this.chart.draw();
  }

  // ---- the brush ----

  #press(event) {
    if (!this.panel.periods.length || event.button) return;
    this.x = event.clientX; this.from = this.#nearest(event); this.pinned = this.panel.pinned; this.dragged = false;
    this.panel.plot.setPointerCapture(event.pointerId);
    this.#show(null);
  }

  #drag(event) {
    if (this.from < 0 || !(event.buttons & 1)) return;
    if (!this.dragged && Math.abs(event.clientX - this.x) < DRAGGED) return;
    this.dragged = true; this.panel.pinned = this.pinned;
    this.#show([this.from, this.#nearest(event)]);
  }

  #release() {
    if (this.from >= 0 && this.dragged) this.#ask();
    this.from = -1;
  }

  /** The space bar begins a stretch at the period that is chosen, arrows move its other end, the space bar asks. */
  #key(event) {
    const { panel } = this, at = panel.pinned >= 0 ? panel.pinned : panel.periods.length - 1;
    if (event.key === " " && at >= 0) {
      event.preventDefault();
      if (this.from < 0) { this.from = at; this.#show([at, at]); } else { this.#show([this.from, at]); this.from = -1; this.#ask(); }
    } else if (event.key === "Escape") { this.from = -1; this.#show(null); } else if (this.from >= 0) this.#show([this.from, at]);
  }

  #nearest(event) { return this.panel.chart.nearest(event.clientX - this.panel.plot.getBoundingClientRect().left); }

  #show(brush) {
    this.panel.chart.brush = brush && [Math.min(...brush), Math.max(...brush)];
    if (!brush) this.answer.hidden = true;
    this.panel.touch();
  }

  #stretch(from, to) {
    const { periods } = this.panel, at = (t) => new Date(periods.instant(t)).toISOString().replace(".000Z", "Z");
    return `${at(periods.t[from])} .. ${at(periods.t[to] + 1)}`;
  }

  #when(iso) { return `${iso.slice(0, 10)} ${minutes(iso)}`; }

  async #ask() {
    const { spec, answer } = this, number = ++this.asked, over = this.#stretch(...this.panel.chart.brush);
    const question = `${spec.asked} of ${spec.name} over ${over}`, [from, to] = over.split(" .. ");
    answer.hidden = false;
    if (!served()) {
      write(answer, `This file has no server to ask. This command answers: murmurate query "${question}" --from releases.jsonl`);
      return;
    }
    const also = spec.main && spec.names.length > 1 ? [`mean of ${spec.name} over ${over}`] : [];
    const found = await Promise.allSettled([question, ...also].map((one) => ask(one)));
    if (number !== this.asked) return;                   /* another stretch was asked about meanwhile */
    const [first] = found;
    if (first.status === "rejected") { write(answer, first.reason.message); return; }
    const said = found.filter(({ status }) => status === "fulfilled").flatMap(({ value }) => this.#told(value));
    const { periods, asked } = first.value.rows[0], part = periods === asked ? "" : ` of ${grouped(asked)}, others missing`;
    write(answer, `${this.#when(from)} to ${this.#when(to)} UTC, ${grouped(periods)}${part} periods: ${said.join("; ")}`);
  }

  /** The figures of an answer, of those that the chart shows: "sum 12 345 \u00b1 246 EUR". */
  #told({ query, unit, rows }) {
    const { categories } = this.panel.periods, word = query.split(" ", 1)[0];
    const shown = rows.filter(({ name }) => categories.get(name)?.shown), few = (shown.length ? shown : rows).slice(0, TOLD);
    return few.map((row) => `${rows.length > 1 ? row.name : word} ${sure(row, unit)}`);
  }
}
