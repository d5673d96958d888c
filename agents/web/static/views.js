// SPDX-License-Identifier: Apache-2.0
"use strict";
/* The kinds of pictures that a stream can have, by what its header says of its measure, and the buttons that choose one.
   Another kind is a class with what Picture has, and a row here. Needs the pictures. */

const VIEWS = [
  { name: "leaderboard", title: "Leaders", make: Leaderboard, fits: (panel) => panel.discovers },
  { name: "heat", title: "Heat map", make: HeatMap, fits: (panel) => Boolean(panel.spec.ordered && panel.spec.range) },
  { name: "lines", title: "Lines", make: Chart, fits: () => true },
  { name: "multiples", title: "Small multiples", make: Multiples, fits: (panel) => !panel.reading.alone && !panel.spec.central },
  { name: "ranking", title: "Ranking", make: Ranking, fits: (panel) => Boolean(panel.spec.ranked) && !panel.reading.alone && !panel.discovers },
];

/** What the key below a picture says, by its kind. */
const KEYS = {
  heat: ["share", "published", "event"], lines: ["estimate", "truth", "band", "published", "approximated", "first", "event", "log"],
  multiples: ["estimate", "truth", "band", "published", "approximated"], ranking: ["bar", "whisker", "truth"],
  leaderboard: ["estimate", "truth", "band", "followed", "limit"],
};

/** The buttons above a picture. `choose(name)` and `scale(log)` hear what is chosen. */
class Views {
  constructor(panel, { choose, scale }) {
    this.choose = choose; this.box = panel.root.querySelector(".views"); this.log = panel.root.querySelector("[data-log]");
    this.unsure = this.happened = this.logged = false;
    this.keys = [...panel.root.querySelectorAll(".key li")];
    this.offer(panel);
    this.log.addEventListener("click", () => scale(this.log.getAttribute("aria-pressed") !== "true"));
  }

  /** Have a button for each kind that fits a stream: more is known of it once a release is there. */
  offer(panel) {
    this.kinds = VIEWS.filter(({ fits }) => fits(panel));
    const buttons = this.kinds.map(({ name, title }) => {
      const button = make("button", title);
      button.type = "button"; button.dataset.view = name;
      button.addEventListener("click", () => this.choose(name));
      return button;
    });
    this.box.replaceChildren(...buttons); this.box.hidden = buttons.length < 2;
  }

  /** The kind that a stream has at first. */
  get first() { return this.kinds[0].name; }

  /** A picture of this kind. */
  make(name, ...parts) { return new (this.kinds.find((kind) => kind.name === name).make)(...parts); }

  /** Show what is chosen. */
  show(name, log, logs) {
    this.kind = name;
    for (const button of this.box.children) button.setAttribute("aria-pressed", String(button.dataset.view === name));
    this.log.setAttribute("aria-pressed", String(log)); this.log.hidden = !logs;
    this.sign({ log });
  }

  /** Show the signs of what there is: `unsure` a first period, `happened` events, `log` a logarithmic axis. */
  sign({ unsure = this.unsure, happened = this.happened, log = this.logged }) {
    this.unsure = unsure; this.happened = happened; this.logged = log;
    const has = { first: unsure, event: happened, log };
    for (const key of this.keys) key.classList.toggle("other", !KEYS[this.kind].includes(key.dataset.key) || has[key.dataset.key] === false);
  }
}
