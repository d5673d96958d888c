// SPDX-License-Identifier: Apache-2.0
"use strict";
/* One stream's section of the page: its picture, and what legend.js, values.js, bars.js and stretch.js add. All text of a
   frame goes in by textContent: a category's name is never markup. Needs the files before it; app.js hands it releases. */

const TABLE_MS = 100;                                    /* the table, and a picture drawn whole, follow at most so often */
const LARGE = 400_000;                                   /* pixels from which on a picture drawn whole waits longer */
const SPOKEN_MS = 10_000;                                /* new values are read out at most so often, to who is in the section */
const EVENTS_SHOWN = 20;
const DROWNED_FROM = 3;                                  /* periods with figures from which on their noise is worth a sentence */

class Panel {
  /** `near`: whether it is where somebody looks; overview.js says when that changes. */
  constructor(spec, near) {
    this.spec = spec;
    this.root = document.getElementById("stream").content.firstElementChild.cloneNode(true);
    this.periods = new Periods(spec); this.reading = new Reading(spec);
    this.root.dataset.shows = spec.ordered ? "stretches" : this.reading.alone ? "one" : this.reading.inTables ? "tables" : "shares";
    const find = (selector) => this.root.querySelector(selector);
    this.plot = find(".plot"); this.hint = find(".hint"); this.empty = find(".empty"); this.short = find(".short");
    this.late = find(".late"); this.spoken = find(".spoken"); this.told = find(".told");
    find("h2").textContent = spec.name;
    find(".about").textContent = this.reading.about;
    this.plot.setAttribute("aria-label", `${spec.name}: choose a period with the arrow keys; its values are in the table`);
    for (const node of this.root.querySelectorAll(".truth")) node.hidden = true;
    this.pinned = -1; this.hovered = -1;                 /* -1: the newest period */
    this.ranked = 0; this.unranked = false; this.chosen = false;                /* whether the reader has chosen lines */
    this.fixed = null; this.pointed = null;              /* the line that the reader put in focus, and the one pointed at */
    this.near = near;                                    /* whether it is in the window or close to it */
    this.discovers = false;                              /* whether names are found, and make a leaderboard */
    this.dirty = true; this.eager = true; this.tableAt = this.drawnAt = this.spokenAt = -Infinity; this.filled = -1;
    this.order = [...this.periods.categories.values()];
    this.views = new Views(this, { choose: (name) => this.show(name), scale: (log) => { this.chart.log = log; this.show(this.view); } });
    this.show(this.views.first);
    this.values = new Values(this.root, this.periods, this.reading, (category) => this.look(category), (category) => this.focus(category));
    const heard = { tell: (category) => this.look(category), redraw: () => { this.filled = -1; this.touch(); } };
    this.spread = null;
    if (spec.ordered) this.spread = new Spread(find(".spread"), this.periods, spec, this.reading, heard);
    else find(".spread").remove();
    this.names = new Legend(this, find, {
      look: (category) => this.look(category), toggle: (category) => this.#toggle(category),
      focus: (category) => this.focus(category), rank: (count) => { this.chosen = true; this.rank(count, true); },
    });
    this.legend = this.names.box;
    this.#listen(find);
    this.stretch = new Stretch(this, find);
    this.fates = new Fates(find(".fates"));
    this.course = new CourseFigure(find(".course"), {
      hover: (i) => { this.hovered = i; this.touch(); }, pin: (i) => { this.pinned = i; this.touch(); },
    });
    this.names.fill(this.order);
    this.#lacks();
  }

  /** Have another kind of picture, which goes on where the last one was. */
  show(name) {
    const before = this.chart, { plot, periods, reading } = this;
    this.view = name; this.root.dataset.view = name;
    if (!before || before.kind !== name) {
      this.chart = this.views.make(name, plot, periods, before?.scale ?? reading.scale(this.order[0]), colours, this.spec);
      this.chart.kind = name;
      if (before) for (const key of ["last", "log", "brush", "cursor"]) this.chart[key] = before[key];
      if (reading.tabled.size) this.chart.called = (c) => reading.title(c);
      if (name === "multiples") this.chart.listing = () => this.order;
      if (name === "ranking") this.chart.alike = (c) => reading.scale(c) === this.chart.scale && !reading.waits(c, this.order.length, false);
    }
    const logs = this.chart.logs && this.chart.scale.logs && !this.chart.shown().some(({ low }) => low < 0);
    if (!logs) this.chart.log = false;
    this.views.show(name, this.chart.log, logs);
    this.#aim();
    this.redraw();
  }

  /** Take a release; what it changes is drawn with the next refresh. */
  add(release, truth) {
    if (!this.periods.append(release, truth)) {
      if (this.periods.revise(release)) { this.#happened(); this.redraw(); }
      return;
    }
    if (release.discovery && !this.discovers) this.#discover();
    this.release = release; this.dirty = true; this.stretch.grow();
    const n = this.periods.length, { categories } = this.periods;
    const more = categories.size !== this.order.length;  /* names are found, and there are new ones */
    if (more) this.order = [...categories.values()];
    if (more || n >= 2 * this.ranked) this.rank();
    if (more && this.chosen) this.names.fill(this.order);
    this.#lacks(); this.#happened();
    if (n === 1) for (const node of this.root.querySelectorAll(".truth")) node.hidden = !truth;
  }

  /** Names are searched for: what is found makes a leaderboard, before anything else. */
  #discover() {
    this.discovers = this.spec.ranked = true;
    this.views.offer(this);
    this.show(this.views.first);
  }

  /** Say what there is to say of too few reports, or of too much noise: in the place of a picture while there is none. */
  #lacks() {
    const { periods } = this, n = periods.length, { shortage } = periods;
    const drowned = periods.known >= DROWNED_FROM && periods.drowned;
    const noise = drowned ? "The noise is larger than every figure of the newest period: none can be told from zero. More users, longer periods or a larger epsilon make them readable." : "";
    this.empty.hidden = periods.known > 0;
    if (this.views.unsure !== periods.unsure >= 0) this.views.sign({ unsure: periods.unsure >= 0 });
    this.root.dataset.state = periods.known ? "running" : n ? "nothing" : "waiting";
    if (n) write(this.empty.firstElementChild, periods.nothing(n - 1));
    this.short.hidden = !(shortage || noise); write(this.short, shortage || noise);
  }

  /** Tell the events of the stream. */
  #happened() {
    const { marks } = this.periods.events;
    this.told.hidden = !marks.length;
    if (this.views.happened !== marks.length > 0) this.views.sign({ happened: marks.length > 0 });
    if (!marks.length) return;
    const said = this.periods.events.said(EVENTS_SHOWN), [{ when, words }] = said;
    write(this.told.firstElementChild, `${grouped(marks.length)} ${marks.length > 1 ? "events, the newest" : "event"}: ${words} (${when})`);
    if (this.told.open || !this.told.lastElementChild.children.length) {
      this.told.lastElementChild.replaceChildren(...said.map((one) => make("li", `${one.when}: ${one.words}`)));
    }
  }

  /** Show the largest, unless the reader has chosen. */
  rank(count = FIRST_SHOWN, asked = false) {
    this.ranked = this.periods.length;
    if (this.chosen && !asked) return;
    this.unranked = !this.near;                          /* where nobody looks, nothing is chosen */
    if (this.unranked) return;
    const given = [...this.periods.categories.values()], waits = (c) => this.reading.waits(c, given.length, asked);
    const all = [...given].sort((a, b) => waits(a) - waits(b) || this.#size(b) - this.#size(a));
    all.forEach((c, place) => { c.shown = place < count && !waits(c); c.listed = false; });
    if (given.length > COLOURS) for (const c of given) if (!c.shown) c.slot = -1;    /* the lines take the first colours */
    if (this.spec.ranked) this.order = all;
    else for (const c of given) c.slot = -1;             /* stretches and their colours stay in the order of the range */
    this.#changed();
  }

  /** Movers go both ways. */
  #size(c) { return this.reading.listed ? Math.abs(c.sum) : c.sum; }

  /** Nothing more will come: let what there is fill the width. */
  fit() {
    const { t } = this.periods;
    if (t.length) this.periods.expected = t[t.length - 1] - t[0] + 1;
    this.redraw();
  }

  /** Draw with the next refresh; with `redraw` everything, not only what is new. */
  touch() { this.dirty = this.eager = true; schedule(); }

  redraw() { this.chart.stale = true; this.filled = -1; this.touch(); }

  /** It came close to the window, or is far from it and gives its pixels back. */
  approach(near) {
    if (this.near === near) return;
    this.near = near;
    if (near && this.unranked) this.rank();
    if (near) this.redraw(); else { this.chart.release(); this.dirty = false; }
  }

  /** Called once a screen refresh. */
  render(now) {
    if (!this.near) this.dirty = false;
    if (!this.dirty || !this.plot.clientWidth) return;
    const n = this.periods.length, pinned = this.hovered >= 0 ? this.hovered : this.pinned, { chart } = this;
    chart.cursor = pinned;
    const { w = 0, h = 0 } = chart.view ?? {}, pause = TABLE_MS * Math.max(1, (w * h) / LARGE);
    const waits = chart.whole && !this.eager && now - this.drawnAt < pause;
    if (!waits) {
      const height = chart.tall ? `${chart.tall(this.plot.clientWidth)}px` : "";
      if (this.plot.style.height !== height) this.plot.style.height = height;
      const anew = chart.stale;
      chart.draw(); this.stretch.draw();
      this.#below(anew);
      this.drawnAt = now; this.eager = false;
    }
    const at = pinned >= 0 ? pinned : n - 1;
    if (n && (pinned >= 0 || now - this.tableAt >= TABLE_MS)) { this.#fill(at); this.tableAt = now; }
    if (chart.moving) this.eager = true;                 /* rows on their way are drawn with each refresh */
    this.dirty = waits || Boolean(chart.moving) || (n > 0 && this.filled !== at);
  }

  /** What stands below a leaderboard. */
  #below(anew) {
    const { chart } = this, board = chart.kind === "leaderboard" && this.periods.known > 0;
    if (board) { this.fates.fill(this.periods, chart.period); this.course.draw(this, chart, anew); }
    else this.fates.box.hidden = this.course.figure.hidden = true;
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
    this.names.fill(this.order); this.show(this.view);
    const more = `The band is that of the line in focus; with more than ${DETAILED} lines, names stand in the list alone.`;
    write(this.hint, this.order.filter((c) => c.shown).length > DETAILED ? more : this.reading.hint);
  }

  #toggle(category) {
    this.chosen = true;
    for (const c of this.periods.categories.values()) {
      if (c !== category) c.shown &&= this.reading.together(c, category);
    }
    category.shown = this.reading.alone || !category.shown;
    this.#changed();
  }

  /** Let one stand out while it is pointed at. */
  look(category) {
    if (this.pointed === category) return;
    this.pointed = category;
    this.#aim();
  }

  /** Put one in focus until another one is. */
  focus(category) {
    this.fixed = category;
    if (category && !category.shown && !this.reading.alone) this.#toggle(category); else this.#aim();
  }

  /** Which one is in focus: what is pointed at, what the reader chose, or the largest. */
  #aim() {
    const { chart } = this, shown = chart.shown(), board = chart.kind === "leaderboard", any = board || chart.kind === "heat" || chart.kind === "ranking";
    const pointed = this.pointed && (any || this.pointed.shown) ? this.pointed : null;
    const largest = shown.reduce((best, c) => (best && this.#size(best) >= this.#size(c) ? best : c), null);
    const fixed = board ? this.fixed ?? shown[0] ?? chart.focus : this.fixed?.shown ? this.fixed : largest, focus = pointed ?? fixed;
    this.names?.focusable(board ? this.#byName(shown, fixed) : shown, fixed);
    write(this.root.querySelector(".of"), focus && shown.length > BANDED && chart.kind === "lines" ? ` of ${this.reading.title(focus)}` : "");
    if (chart.focus === focus && chart.pointed === Boolean(pointed)) return;
    chart.focus = focus; chart.pointed = Boolean(pointed); this.redraw();
  }

  /** The names of a leaderboard as a list to choose from, which hardly changes while the places do: all that were ever
      listed, or where they are many those that are. */
  #byName(shown, fixed) {
    const all = [...this.periods.categories.values()], names = all.length <= MOST_SHOWN ? all : [...new Set([...shown, fixed ?? []].flat())];
    return names.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  #listen(find) {
    const { plot } = this;
    const pick = (event) => {
      if (!this.periods.known || !this.chart.view) return;
      const box = plot.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
      this.hovered = this.chart.nearest(x);
      if (event.pointerType !== "touch" || event.type === "pointerdown") this.look(this.chart.brush ? null : this.chart.at(x, y));
      this.touch();
    };
    plot.addEventListener("pointermove", pick);
    plot.addEventListener("pointerdown", (event) => {
      pick(event); this.pinned = this.hovered;
      if (this.pointed && (this.pointed.shown || this.view === "leaderboard")) this.focus(this.pointed);
    });
    plot.addEventListener("pointerleave", () => { this.hovered = -1; this.look(null); this.touch(); });
    plot.addEventListener("keydown", (event) => this.#key(event));
    find(".show select").addEventListener("change", (event) => { this.chart.last = Number(event.target.value); this.redraw(); });
    this.told.addEventListener("toggle", () => this.#happened());
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
      : this.discovers ? this.#found(i)
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
    if (chart.kind === "leaderboard") this.#aim();       /* its names change with the period */
    this.plot.setAttribute("aria-valuemax", String(periods.length - 1));
    const largest = rows.slice(0, FIRST_SHOWN).map((c) => reading.said(c, c.estimate[i], chart)).join(", ");
    this.plot.setAttribute("aria-valuenow", String(this.pinned < 0 ? periods.length - 1 : i));
    const says = periods.records[i].decision === "unmeasured" ? "" : `: ${largest}`;
    const found = foundSaid(periods, i), words = `${this.values.when(i)}, ${this.values.how(i)}${says}${found && `; ${found}`}`;
    this.plot.setAttribute("aria-valuetext", this.pinned < 0 ? "The newest period" : words);
    this.#speak(i, words);
    this.values.tell(this.release);
  }

  /** Rows of a period whose names are found: what it lists, what is gone, and the lines that it does not list. */
  #found(i) {
    const { categories, records } = this.periods, listed = listedAt(this.periods, i).slice(0, LISTED_ITEMS);
    const gone = (records[i].discovery?.gone ?? []).map((name) => categories.get(name)).filter(Boolean);
    const rest = this.view === "leaderboard" ? [this.fixed].filter(Boolean) : this.order.filter((c) => c.shown);
    return [...new Set([...listed, ...gone, ...rest])];
  }

  /** Read new values out to who is in this section, and not too often. */
  #speak(i, words) {
    const now = performance.now();
    if (this.pinned >= 0 || i === this.spokenOf || now - this.spokenAt < SPOKEN_MS || !this.root.contains(document.activeElement)) return;
    this.spokenAt = now; this.spokenOf = i;
    write(this.spoken, words);
  }
}
