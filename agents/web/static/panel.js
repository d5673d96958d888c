"use strict";
/* One stream's section of the page: chart, legend, the table of a period and the facts of its privacy. All text of a
   frame goes in by textContent: a category's name is never markup. Needs chart.js; app.js hands it the releases. */

const FIRST_SHOWN = 6, MOST_SHOWN = 64, LISTED = 24;
const TABLE_MS = 100;                                    /* the table follows the newest release at most so often */

/** An element with text and classes. */
function make(tag, text = "", className = "") {
  const node = document.createElement(tag);
  node.textContent = text;
  if (className) node.className = className;
  return node;
}

/** A category's sign: its colour and its point. */
function swatch(slot) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const draw = (tag, attributes) => {
    const node = document.createElementNS(svg.namespaceURI, tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    svg.append(node);
  };
  svg.setAttribute("viewBox", "-13 -6 26 12");
  svg.setAttribute("class", `swatch c${slot % COLOURS}`);
  svg.setAttribute("aria-hidden", "true");
  draw("line", { x1: -13, x2: 13, y1: 0, y2: 0 }); draw("path", { d: SHAPES[slot % SHAPES.length] });
  return svg;
}

/* ---- numbers in words ---- */

const grouped = (value) => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
function short(value) {
  if (value >= 1e6) return `${(value / 1e6).toFixed(value < 1e7 ? 2 : 1)} M`;
  return value >= 1e4 ? `${(value / 1e3).toFixed(0)} k` : grouped(value);
}
const figure = (value) => (typeof value === "number" ? String(Number(value.toPrecision(3))) : "not computed");
/** The places a step needs: 2 for 0.25. */
function places(step) {
  for (let k = 0; k < 6; k++) if (Math.abs(step * 10 ** k - Math.round(step * 10 ** k)) < 1e-6) return k;
  return 6;
}
const percent = (value, step) => `${(100 * value).toFixed(places(100 * step))}\u202f%`;
const plain = (value, step) => value.toFixed(places(step));
const minutes = (iso) => iso.slice(11, iso.slice(17, 19) === "00" ? 16 : 19);
function every(ms) {
  const [unit, size] = [["d", DAY], ["h", HOUR], ["m", MINUTE], ["s", 1000], ["ms", 1]].find(([, size]) => ms % size === 0);
  return `${ms / size}${unit}`;
}

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

/** One stream's section: chart, legend, table, facts. */
class Panel {
  constructor(spec) {
    this.spec = spec;
    this.root = document.getElementById("stream").content.firstElementChild.cloneNode(true);
    this.format = spec.measure === "frequency" ? percent : plain;
    this.periods = new Periods(spec.names, spec.every_ms, spec.periods);
    const find = (selector) => this.root.querySelector(selector);
    this.plot = find(".plot"); this.legend = find(".legend"); this.table = find("table"); this.facts = find(".privacy");
    this.hint = find(".hint"); this.more = find("[data-more]"); this.empty = find(".empty");
    find("h2").textContent = spec.name;
    find(".about").textContent = `${spec.measure} of ${spec.names.length} values every ${every(spec.every_ms)}, ${spec.method}`;
    this.plot.setAttribute("aria-label", `${spec.name}: choose a period with the arrow keys; its values are in the table`);
    for (const node of this.root.querySelectorAll(".truth")) node.hidden = true;
    this.pinned = -1; this.hovered = -1;                 /* -1: the newest period */
    this.ranked = 0; this.chosen = false; this.listed = LISTED;
    this.dirty = true; this.tableAt = -Infinity; this.rowsOf = "";
    this.chart = new Chart(this.plot, this.periods, this.format, colours, spec.measure === "frequency" ? 1 : Infinity);
    this.#listen(find);
    this.#buttons();
  }

  /** Take a release; what it changes is drawn with the next refresh. */
  add(release, truth) {
    if (!this.periods.append(release, truth)) return;
    this.release = release; this.dirty = true;
    const n = this.periods.length;
    if (n >= 2 * this.ranked || this.ranked === 0) this.rank();
    if (n === 1) {
      this.empty.hidden = true;
      for (const node of this.root.querySelectorAll(".truth")) node.hidden = !truth;
    }
  }

  /** Show the largest, unless the reader has chosen. Those who sent nothing are often most: "none" waits in the legend. */
  rank(count = FIRST_SHOWN, asked = false) {
    this.ranked = Math.max(1, this.periods.length);
    if (this.chosen && !asked) return;
    const late = (c) => !asked && c.name === "none" && this.periods.categories.size > 2;
    const all = [...this.periods.categories.values()].sort((a, b) => late(a) - late(b) || b.sum - a.sum);
    all.forEach((c, place) => { c.shown = place < count && !late(c); });
    this.order = all;
    this.#changed();
  }

  /** Nothing more will come: let what there is fill the width. */
  fit() {
    const { t } = this.periods;
    if (t.length) this.periods.expected = t[t.length - 1] - t[0] + 1;
    this.redraw();
  }

  /** Draw with the next refresh; with `redraw` everything, not only what is new. */
  touch() { this.dirty = true; schedule(); }

  redraw() { this.chart.stale = true; this.touch(); }

  /** Called once a screen refresh. */
  render(now) {
    if (!this.dirty || !this.plot.clientWidth) return;
    const n = this.periods.length, pinned = this.hovered >= 0 ? this.hovered : this.pinned;
    this.chart.cursor = pinned;
    this.chart.draw();
    const at = pinned >= 0 ? pinned : n - 1;
    if (n && (pinned >= 0 || now - this.tableAt >= TABLE_MS)) { this.#fill(at); this.tableAt = now; }
    this.dirty = n > 0 && this.filled !== at;
  }

  #changed() {
    const slots = new Array(COLOURS * SHAPES.length).fill(0);
    for (const c of this.periods.categories.values()) if (c.slot >= 0) slots[c.slot] += 1;
    const names = [...this.periods.categories.keys()];
    for (const c of this.order || this.periods.categories.values()) {
      if (!c.shown || c.slot >= 0) continue;             /* few names: a sign each, the same in every run */
      c.slot = names.length <= COLOURS ? names.indexOf(c.name) : slots.indexOf(Math.min(...slots));
      slots[c.slot] += 1;
    }
    this.#buttons(); this.redraw(); this.filled = -1;
    const count = this.chart.shown().length;
    const more = `With more than ${DETAILED} lines, bands and truth are drawn for the category you point at or focus.`;
    this.hint.textContent = count > DETAILED ? more : "";
  }

  #buttons() {
    const all = this.order || [...this.periods.categories.values()];
    const names = all.slice(0, this.listed).concat(all.slice(this.listed).filter((c) => c.shown));
    const held = this.legend.contains(document.activeElement) ? document.activeElement.dataset.name : null;
    this.legend.replaceChildren(...names.map((c) => {
      const button = make("button");
      button.type = "button"; button.dataset.name = c.name; button.tabIndex = -1; button.title = c.name;
      button.setAttribute("aria-pressed", String(c.shown));
      button.append(swatch(Math.max(0, c.slot)), make("span", c.name));
      if (c.slot < 0) button.firstChild.setAttribute("class", "swatch soft");
      return button;
    }));
    const current = [...this.legend.children].find((node) => node.dataset.name === held) || this.legend.firstChild;
    if (current) current.tabIndex = 0;
    if (held !== null && current) current.focus();
    this.more.hidden = names.length === all.length;
    this.more.textContent = `List all ${all.length} names`;
    this.more.parentNode.hidden = all.length <= FIRST_SHOWN;
    const most = this.root.querySelector('[data-show="64"]');
    most.textContent = all.length > MOST_SHOWN ? `Show the ${MOST_SHOWN} largest` : "Show all";
  }

  #listen(find) {
    const { plot, legend } = this;
    const pick = (event) => {
      if (!this.periods.length) return;
      this.hovered = this.chart.nearest(event.clientX - plot.getBoundingClientRect().left);
      this.touch();
    };
    plot.addEventListener("pointermove", pick);
    plot.addEventListener("pointerdown", (event) => { pick(event); this.pinned = this.hovered; });
    plot.addEventListener("pointerleave", () => { this.hovered = -1; this.touch(); });
    plot.addEventListener("keydown", (event) => this.#key(event));
    const named = (event) => event.target.closest("button")?.dataset.name;
    legend.addEventListener("click", (event) => {
      const category = this.periods.categories.get(named(event));
      if (!category) return;
      this.chosen = true; category.shown = !category.shown;
      this.#changed();
    });
    legend.addEventListener("keydown", (event) => {
      const buttons = [...legend.children], at = buttons.indexOf(document.activeElement);
      const to = {
        ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1,
      }[event.key];
      if (to === undefined || at < 0) return;
      event.preventDefault();
      const next = buttons[(to + buttons.length) % buttons.length];
      buttons[at].tabIndex = -1; next.tabIndex = 0; next.focus();
    });
    const look = (name) => {
      const category = this.periods.categories.get(name) || null, focus = category?.shown ? category : null;
      if (this.chart.focus !== focus) { this.chart.focus = focus; this.redraw(); }
    };
    for (const [type, on] of [["pointerover", true], ["pointerleave", false], ["focusin", true], ["focusout", false]]) {
      legend.addEventListener(type, (event) => look(on ? named(event) : undefined));
    }
    for (const button of this.root.querySelectorAll("[data-show]")) {
      button.addEventListener("click", () => { this.chosen = true; this.rank(Number(button.dataset.show), true); });
    }
    this.more.addEventListener("click", () => { this.listed = Infinity; this.#buttons(); });
    find("select").addEventListener("change", (event) => { this.chart.last = Number(event.target.value); this.redraw(); });
    new ResizeObserver(() => this.redraw()).observe(plot);
  }

  #key(event) {
    const n = this.periods.length, at = this.pinned >= 0 ? this.pinned : n - 1, far = event.shiftKey ? 10 : 1;
    const to = {
      ArrowLeft: at - far, ArrowDown: at - far, ArrowRight: at + far, ArrowUp: at + far,
      PageDown: at - 10, PageUp: at + 10, Home: 0, End: n - 1, Escape: n,
    }[event.key];
    if (to === undefined || !n) return;
    event.preventDefault();
    this.hovered = -1; this.pinned = event.key === "Escape" ? -1 : Math.max(0, Math.min(n - 1, to));
    this.touch();
    this.#fill(this.pinned >= 0 ? this.pinned : n - 1);
  }

  /** The table of one period. The slider's words change only when the reader moves it, so that nothing chatters. */
  #fill(i) {
    const step = Math.min(0.001, 10 ** Math.floor(Math.log10(this.chart.view.step / 20) + 1e-9));
    const format = (value) => this.format(value, step);
    const { periods } = this, record = periods.records[i], shown = (this.order || []).filter((c) => c.shown);
    const key = `${shown.map((c) => c.slot).join()}${periods.hasTruth}`;
    if (key !== this.rowsOf) {
      this.rowsOf = key;
      this.rows = shown.map((c) => {
        const row = make("tr"), name = make("th"), cells = [0, 1, 2, 3].map(() => make("td"));
        name.scope = "row"; name.title = c.name; name.append(swatch(c.slot), c.name);
        cells[2].hidden = cells[3].hidden = !periods.hasTruth;
        row.append(name, ...cells);
        return { c, row, cells };
      });
      this.table.tBodies[0].replaceChildren(...this.rows.map(({ row }) => row));
    }
    const write = (cell, value) => {
      const text = Number.isNaN(value) ? "" : format(value);
      if (cell.textContent !== text) cell.textContent = text;
    };
    for (const { c, cells } of this.rows) {
      write(cells[0], c.estimate[i]); write(cells[1], 2 * c.error[i]); write(cells[2], c.truth[i]);
      write(cells[3], Math.abs(c.estimate[i] - c.truth[i]));
    }
    const how = this.#decision(record);
    const when = `${record.start.slice(0, 10)}, ${minutes(record.start)} to ${minutes(record.end)} UTC`;
    const count = `${grouped(record.reports.counted)} reports counted`;
    this.table.caption.replaceChildren(make("b", when), make("span", `${how}, ${count}`));
    this.filled = i;
    this.plot.setAttribute("aria-valuemax", String(periods.length - 1));
    const largest = shown.slice(0, FIRST_SHOWN).map((c) => `${c.name} ${format(c.estimate[i])}`).join(", ");
    this.plot.setAttribute("aria-valuenow", String(this.pinned < 0 ? periods.length - 1 : i));
    this.plot.setAttribute("aria-valuetext", this.pinned < 0 ? "The newest period" : `${when}, ${how}: ${largest}`);
    this.#privacy();
  }

  #decision({ decision, measured }) {
    if (decision === "published") return decision;
    if (measured === null) return `${decision}, nothing measured yet`;
    return `${decision}, measured at ${minutes(new Date(this.periods.instant(measured)).toISOString())}`;
  }

  #privacy() {
    const { privacy, mechanism, method, reports } = this.release;
    const window = typeof privacy.window === "string" ? privacy.window : `${privacy.window.periods} periods`;
    const own = (table) => Object.entries(table).filter(([key]) => key !== "name" && key !== "digest")
      .map(([key, value]) => `${key}${typeof value === "number" ? " =" : ""} ${value}`);
    const rejected = Object.values(reports.rejected).reduce((sum, count) => sum + count, 0);
    const refused = rejected ? `, ${grouped(rejected)} rejected` : "";
    const mixed = privacy.shuffled && [
      `epsilon ${figure(privacy.shuffled.epsilon)}, delta ${figure(privacy.shuffled.delta)} in a ${privacy.shuffled.per}`,
      `${grouped(privacy.shuffled.n)} reports hide each other (${privacy.shuffled.bound})`,
    ].join(", ");
    const facts = {
      Promise: `epsilon ${privacy.epsilon} for one ${privacy.unit} in any ${window}`,
      w: `${privacy.w} periods`,
      Mechanism: [mechanism.name, ...own(mechanism)].join(", "),
      Method: [method.name, ...own(method)].join(", "),
      Reports: `${grouped(reports.counted)} counted of ${grouped(reports.received)} received${refused}`,
      "After mixing": mixed || "not computed",
      Digest: mechanism.digest,
    };
    const key = JSON.stringify(facts);
    if (key === this.factsOf) return;
    this.factsOf = key;
    this.facts.replaceChildren(...Object.entries(facts).flatMap(([name, text]) => [make("dt", name), make("dd", text)]));
  }
}
