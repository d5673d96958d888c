// SPDX-License-Identifier: Apache-2.0
"use strict";
/* One stream's section of the page: chart, legend, and what values.js and bars.js add. All text of a frame goes in by
   textContent: a category's name is never markup. Needs the other files; app.js hands it the releases. */

const FIRST_SHOWN = 6, MOST_SHOWN = 64, LISTED = 24, MATCHES = 100;
const TABLE_MS = 100;                                    /* the table follows the newest release at most so often */

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

/** One stream's section: chart, legend, table, facts; where neighbours are one picture also its bars. */
class Panel {
  constructor(spec) {
    this.spec = spec;
    this.root = document.getElementById("stream").content.firstElementChild.cloneNode(true);
    this.periods = new Periods(spec); this.reading = new Reading(spec);
    this.root.dataset.shows = spec.ordered ? "stretches" : this.reading.alone ? "one" : this.reading.inTables ? "tables" : "shares";
    const find = (selector) => this.root.querySelector(selector);
    this.plot = find(".plot"); this.legend = find(".legend");
    this.hint = find(".hint"); this.more = find("[data-more]"); this.search = find(".search"); this.sought = "";
    this.empty = find(".empty"); this.short = find(".short");
    find("h2").textContent = spec.name;
    find(".about").textContent = this.reading.about;
    this.legend.setAttribute("aria-label", this.reading.all);
    this.plot.setAttribute("aria-label", `${spec.name}: choose a period with the arrow keys; its values are in the table`);
    for (const node of this.root.querySelectorAll(".truth")) node.hidden = true;
    this.pinned = -1; this.hovered = -1;                 /* -1: the newest period */
    this.ranked = 0; this.chosen = false;
    this.listed = spec.ordered ? 0 : LISTED;                            /* in their order, the first say little */
    this.dirty = true; this.tableAt = -Infinity; this.filled = -1;
    this.order = [...this.periods.categories.values()];
    this.chart = new Chart(this.plot, this.periods, this.reading.scale(this.order[0]), colours);
    if (this.reading.tabled.size) this.chart.called = (c) => this.reading.title(c);
    this.values = new Values(this.root, this.periods, this.reading);
    const heard = { tell: (category) => this.#look(category), redraw: () => { this.filled = -1; this.touch(); } };
    this.spread = null;
    if (spec.ordered) this.spread = new Spread(find(".spread"), this.periods, spec, this.reading, heard);
    else find(".spread").remove();
    this.#listen(find);
    this.stretch = new Stretch(this, find);
    this.#buttons();
    this.#lacks();
  }

  /** Take a release; what it changes is drawn with the next refresh. */
  add(release, truth) {
    if (!this.periods.append(release, truth)) {
      if (this.periods.revise(release)) this.redraw();
      return;
    }
    this.release = release; this.dirty = true; this.stretch.grow();
    const n = this.periods.length, { categories } = this.periods;
    const more = categories.size !== this.order.length;  /* names are found, and there are new ones */
    if (more) this.order = [...categories.values()];
    if (more || n >= 2 * this.ranked) this.rank();
    if (more && this.chosen) this.#buttons();
    this.#lacks();
    if (n === 1) for (const node of this.root.querySelectorAll(".truth")) node.hidden = !truth;
  }

  /** Say what there is to say of too few reports: in the place of lines while there are none, and above them. */
  #lacks() {
    const { periods } = this, n = periods.length, { shortage } = periods;
    this.empty.hidden = periods.known > 0;
    if (n) write(this.empty.firstElementChild, periods.nothing(n - 1));
    this.short.hidden = !shortage; write(this.short, shortage);
  }

  /** Show the largest, unless the reader has chosen. */
  rank(count = FIRST_SHOWN, asked = false) {
    this.ranked = this.periods.length;
    if (this.chosen && !asked) return;
    const size = this.reading.listed ? (c) => Math.abs(c.sum) : (c) => c.sum;   /* movers go both ways */
    const given = [...this.periods.categories.values()], waits = (c) => this.reading.waits(c, given.length, asked);
    const all = [...given].sort((a, b) => waits(a) - waits(b) || size(b) - size(a));
    all.forEach((c, place) => { c.shown = place < count && !waits(c); c.listed = false; });
    if (this.spec.ranked) this.order = all;
    else for (const c of given) c.slot = -1;             /* stretches and their colours stay in the order of the range */
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

  redraw() { this.chart.stale = true; this.filled = -1; this.touch(); }

  /** Called once a screen refresh. */
  render(now) {
    if (!this.dirty || !this.plot.clientWidth) return;
    const n = this.periods.length, pinned = this.hovered >= 0 ? this.hovered : this.pinned;
    this.chart.cursor = pinned;
    this.chart.draw(); this.stretch.draw();
    const at = pinned >= 0 ? pinned : n - 1;
    if (n && (pinned >= 0 || now - this.tableAt >= TABLE_MS)) { this.#fill(at); this.tableAt = now; }
    this.dirty = n > 0 && this.filled !== at;
  }

  #changed() {
    const slots = new Array(COLOURS * SHAPES.length).fill(0);
    for (const c of this.periods.categories.values()) if (c.slot >= 0) slots[c.slot] += 1;
    const names = [...this.periods.categories.keys()];
    for (const c of this.order) {
      if (!c.shown || c.slot >= 0) continue;             /* few names: a sign each, the same in every run */
      c.slot = names.length <= COLOURS ? names.indexOf(c.name) : slots.indexOf(Math.min(...slots));
      slots[c.slot] += 1;
    }
    const shown = this.chart.shown();
    this.chart.scale = shown.length ? this.reading.scale(shown[0]) : SHARES;
    this.#buttons(); this.redraw();
    const more = `With more than ${DETAILED} lines, bands and truth are drawn for the one you point at or focus.`;
    write(this.hint, shown.length > DETAILED ? more : this.reading.hint);
  }

  #buttons() {
    const all = this.order;
    for (const c of all) c.listed ||= c.shown || c.name === "none";
    this.search.hidden = all.length <= LISTED;
    const found = this.sought ? all.filter((c) => c.name.toLowerCase().includes(this.sought)) : null;
    const names = found ? found.slice(0, MATCHES) : all.filter((c, place) => place < this.listed || c.listed);
    const rest = found && found.length > MATCHES ? `, the ${MATCHES} ${this.spec.ranked ? "largest" : "first"} are listed` : "";
    write(this.search.lastElementChild, found ? `${grouped(found.length)} of ${grouped(all.length)} names${rest}` : "");
    const held = this.legend.contains(document.activeElement) ? document.activeElement.dataset.name : null;
    this.legend.replaceChildren(...names.map((c) => {
      const button = make("button");
      button.type = "button"; button.dataset.name = c.name; button.tabIndex = -1; button.title = c.name;
      button.setAttribute("aria-pressed", String(c.shown));
      button.append(swatch(c.slot), make("span", c.name));
      return button;
    }));
    const buttons = [...this.legend.children];
    const current = buttons.find((node) => node.dataset.name === held) || buttons[0];
    if (current) current.tabIndex = 0;
    if (held !== null && current) current.focus();
    this.more.hidden = found !== null || names.length === all.length;
    this.more.textContent = `List all ${all.length} names`;
    this.more.parentNode.hidden = all.length <= FIRST_SHOWN;
    const most = this.root.querySelector('[data-show="64"]');
    most.textContent = all.length > MOST_SHOWN ? `Show the ${MOST_SHOWN} largest` : "Show all";
  }

  /** Let one line stand out while it is pointed at. */
  #look(category) {
    const focus = category?.shown ? category : null;
    if (this.chart.focus !== focus) { this.chart.focus = focus; this.redraw(); }
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
      this.chosen = true;
      for (const c of this.periods.categories.values()) {
        if (c !== category) c.shown &&= this.reading.together(c, category);
      }
      category.shown = this.reading.alone || !category.shown;
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
    for (const [type, on] of [["pointerover", true], ["pointerleave", false], ["focusin", true], ["focusout", false]]) {
      legend.addEventListener(type, (event) => this.#look(on ? this.periods.categories.get(named(event)) : null));
    }
    for (const button of this.root.querySelectorAll("[data-show]")) {
      button.addEventListener("click", () => { this.chosen = true; this.rank(Number(button.dataset.show), true); });
    }
    this.search.addEventListener("input", (event) => {
      this.sought = event.target.value.trim().toLowerCase(); this.#buttons();
    });
    this.more.addEventListener("click", () => { this.listed = Infinity; this.#buttons(); });
    find("select").addEventListener("change", (event) => { this.chart.last = Number(event.target.value); this.redraw(); });
    new ResizeObserver(() => this.redraw()).observe(plot);
  }

  #key(event) {
    const n = this.periods.length, to = stepped(event, this.pinned >= 0 ? this.pinned : n - 1, n);
    if (to === undefined) return;
    event.preventDefault();
    this.hovered = -1; this.pinned = to;
    this.touch();
    this.#fill(this.pinned >= 0 ? this.pinned : n - 1);
  }

  /** What a period says. The slider's words change only when the reader moves it, so that nothing chatters. */
  #fill(i) {
    const { periods, reading, chart, order } = this, { thresholds } = periods.records[i];
    const held = Object.keys(thresholds).length <= MOST_SHOWN ? thresholds : {};
    const rows = reading.listed ? reading.listed.rows(periods.categories, periods.records[i])
      : order.filter((c) => c.shown || reading.always(c) || c.name in held);
    this.values.fill(i, rows, chart);
    this.spread?.fill(i, chart);
    if (reading.alone) {
      for (const { dataset, lastChild } of this.legend.children) {
        const c = periods.categories.get(dataset.name);
        write(lastChild, reading.said(c, c.estimate[i], chart));
      }
    }
    this.filled = i;
    this.plot.setAttribute("aria-valuemax", String(periods.length - 1));
    const largest = rows.slice(0, FIRST_SHOWN).map((c) => reading.said(c, c.estimate[i], chart)).join(", ");
    this.plot.setAttribute("aria-valuenow", String(this.pinned < 0 ? periods.length - 1 : i));
    const says = periods.records[i].decision === "unmeasured" ? "" : `: ${largest}`;
    const words = `${this.values.when(i)}, ${this.values.how(i)}${says}`;
    this.plot.setAttribute("aria-valuetext", this.pinned < 0 ? "The newest period" : words);
    this.values.tell(this.release);
  }
}
