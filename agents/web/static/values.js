// SPDX-License-Identifier: Apache-2.0
"use strict";
/* What stands beside the chart: the values of one period in a table, and the facts of its privacy. All text of a frame
   goes in by textContent: a category's name is never markup. Needs terms.js, picture.js and reading.js. */

/** A category's sign: its colour and its point. */
function swatch(slot) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const draw = (tag, attributes) => {
    const node = document.createElementNS(svg.namespaceURI, tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    svg.append(node);
  };
  svg.setAttribute("viewBox", "-13 -6 26 12");
  svg.setAttribute("class", `swatch ${slot < 0 ? "soft" : `c${slot % COLOURS}`}`);
  svg.setAttribute("aria-hidden", "true");
  draw("line", { x1: -13, x2: 13, y1: 0, y2: 0 }); draw("path", { d: SHAPES[Math.max(0, slot) % SHAPES.length] });
  return svg;
}

/** Why nothing is claimed of the mixing. These words and those below are agents/mixed_claims.py's. */
const UNCLAIMED = {
  "nothing was counted": "no round of the window had enough reports",
  "public measure": "reports carry a public number, by which they can be told apart",
  "lasting reports": "reports outlive their round, and can be told apart by it",
  "too few reports": "only their sum protects reports, and too few were counted",
};
const BOUNDS = {
  blanket: "worked out for the concrete mechanism (the bound \u201cblanket\u201d)",
  clones: "worked out for any mechanism of this epsilon (the bound \u201cclones\u201d)",
  fakes: "worked out for the concrete mechanism with its fake reports (the bound \u201cfakes\u201d)",
  counts: "that of the sums alone that leave the mixing zone (the bound \u201ccounts\u201d)",
};
const SHOWN = "NO LOCAL PROTECTION: the mixing zone and whoever runs the brokers see what users say";

/** A number above 0 with an exponent of two digits where it is below 0.0001. */
const plain = (value) => (value < 1e-4 ? value.toExponential().replace(/-(\d)$/, "-0$1") : String(value));

/** A number to four digits, never smaller than it is. */
function roundedUp(value) {
  const near = Number(value.toPrecision(4));
  return near < value ? Number((near + 10 ** (Math.floor(Math.log10(near)) - 3)).toPrecision(4)) : near;
}

/** What is claimed of the mixing, and the reports and the bound behind it. */
function claimed({ epsilon, delta, n, bound, fakes, assumed_corrupt: corrupt }) {
  const shown = `epsilon ${plain(roundedUp(epsilon))}`;
  if (!delta) return [`${shown} against everybody, as without mixing: too few reports hide each other`];
  const assumed = corrupt ? `, if at most ${Number((100 * corrupt).toPrecision(3))}\u202f% of all reports come from whoever attacks` : "";
  const more = fakes && bound === "fakes" ? ` and ${grouped(fakes)} fake ones` : "";
  const told = `In the smallest round that counts, ${grouped(n)} honest reports${more} hide each other${assumed}. The epsilon is ${BOUNDS[bound] ?? bound}.`;
  const open = bound === "counts" ? `; ${SHOWN}` : "";
  return [`${shown} but for a chance of ${plain(delta)}, against everybody but the mixing zone${open}`, told];
}

/** What claims of several streams add up to for a user who serves all of them; their decimals add up exactly. */
function together(claims) {
  const sum = (key) => Number(claims.reduce((total, claim) => total + claim[key], 0).toPrecision(12));
  return claimed({ epsilon: sum("epsilon"), delta: roundedUp(sum("delta")) })[0];
}

/** What fake reports leave to whoever knows all other users' reports, and why they hide a user. */
function known({ epsilon, delta }, fakes) {
  const shown = `epsilon ${plain(roundedUp(epsilon))}`, server = "against a server that knows all other users' reports";
  if (!delta) return [`${shown} ${server}: too few fake reports hide one`];
  const told = `The mixing zone adds ${grouped(fakes)} fake reports to each round, and whoever knows all others' reports cannot tell which of those left is the user's.`;
  return [`${shown} but for a chance of ${plain(delta)}, ${server}`, told];
}

const MECHANISMS = { discrete_laplace: "discrete Laplace noise of every node", noisy_max: "noisy maximum over thresholds" };

/** The words with which a period says how it came about, and what the glossary calls those that it does not have. */
const DECIDED = /^(published|approximated|nothing yet|nothing measured yet|hold-out)/;
const DECISIONS = { "nothing yet": "unmeasured", "nothing measured yet": "unmeasured" };

class Values {
  /** `look(category)` hears which row is pointed at, or null; `focus(category)` which one is pressed. */
  constructor(root, periods, reading, look, focus) {
    this.periods = periods; this.reading = reading;
    this.table = root.querySelector("table"); this.facts = root.querySelector(".privacy");
    this.table.querySelector("thead th").textContent = reading.each;
    const when = make("b"), how = make("span");
    this.word = make("button", "", "term"); this.word.type = "button"; this.rest = document.createTextNode("");
    how.append(this.word, this.rest); this.table.caption.replaceChildren(when, how);
    const of = (event) => this.rows?.find(({ row }) => row.contains(event.target))?.c ?? null, body = this.table.tBodies[0];
    body.addEventListener("pointerover", (event) => look(of(event)));
    body.addEventListener("pointerleave", () => look(null));
    body.addEventListener("click", (event) => { if (of(event)) focus(of(event)); });
    this.rowsOf = ""; this.factsOf = ""; this.said = new Map(); this.ofRun = null;
  }

  /** The table of one period: a row for each of these, read as this chart reads them. */
  fill(i, categories, chart) {
    const { periods, reading } = this, record = periods.records[i];
    const key = `${categories.map((c) => `${c.name} ${c.slot}`).join()}${periods.hasTruth}`;
    if (key !== this.rowsOf) { this.rowsOf = key; this.#rows(categories); }
    for (const { c, cells, held } of this.rows) {
      const came = reading.listed?.said(c, i, record) ?? fateSaid(periods, i, c);
      write(held, came + this.#against(Object.hasOwn(record.thresholds, c.name) && record.thresholds[c.name], c, chart));
      const told = [c.estimate[i], 2 * c.error[i], c.truth[i], Math.abs(c.estimate[i] - c.truth[i])];
      told.forEach((value, k) => write(cells[k], reading.text(c, value, chart)));
    }
    const counted = record.reports && `${grouped(record.reports.counted)} reports counted`;
    const count = lacking(record.reports, periods.minBatch) || counted;
    const told = record.decision === "unmeasured" || !count ? this.how(i) : `${this.how(i)}, ${count}`;
    const chosen = reading.listed && record.selection ? reading.listed.hint(record.selection) : "";
    write(this.table.caption.firstElementChild, this.when(i));
    const text = chosen ? `${told}. ${chosen}` : told, [first] = DECIDED.exec(text) ?? [""];
    write(this.word, first); this.word.dataset.word = DECISIONS[first] ?? first; this.word.hidden = !first;
    if (this.rest.data !== text.slice(first.length)) this.rest.data = text.slice(first.length);
  }

  #rows(categories) {
    let heading = "";
    const all = [];
    this.rows = this.reading.rows(categories).map((c) => {
      const row = make("tr"), name = make("th"), cells = [0, 1, 2, 3].map(() => make("td")), title = this.reading.title(c);
      if (heading !== this.reading.heading(c)) {
        heading = this.reading.heading(c);
        const head = make("th", heading), above = make("tr", "", "heading");
        head.colSpan = 5; head.scope = "colgroup"; above.append(head); all.push(above);
      }
      const held = make("small");
      name.scope = "row"; name.title = c.name === title ? title : c.name; name.append(swatch(c.slot), title, held);
      cells[2].hidden = cells[3].hidden = !this.periods.hasTruth;
      row.append(name, ...cells); all.push(row);
      return { c, row, cells, held };
    });
    this.table.tBodies[0].replaceChildren(...all);
  }

  /** On which side of its threshold a statistic is, and how sure that is. */
  #against(told, c, chart) {
    if (!told) return "";
    return ` ${told.side} ${this.reading.text(c, told.threshold, chart)}, ${Math.floor(100 * told.confidence)} % sure`;
  }

  /** The day and the times of a period. */
  when(i) { const record = this.periods.records[i]; return `${record.start.slice(0, 10)}, ${span(record)}`; }

  /** Whether a period was published, or of which one it speaks. */
  how(i) {
    const { decision, measured } = this.periods.records[i];
    if (decision === "published") return decision;
    if (decision === "unmeasured") return this.periods.nothing(i);
    if (measured === null) return `${decision}, nothing published yet`;
    return `${decision}, measured at ${minutes(new Date(this.periods.instant(measured)).toISOString())}`;
  }

  /** The facts of a release's privacy; a fact that is a list has more to say on demand. */
  tell(release) {
    const facts = Object.entries(release.central ? this.#central(release) : this.#local(release));
    const names = facts.map(([name]) => name).join();
    if (names !== this.factsOf) {
      this.factsOf = names;
      this.said = new Map(facts.map(([name]) => [name, make("dd")]));
      this.facts.replaceChildren(...[...this.said].map(([name, dd]) => {
        const pair = make("div"), dt = make("dt");
        dt.append(term(name)); pair.append(dt, dd);
        return pair;
      }));
    }
    for (const [name, fact] of facts) {
      const dd = this.said.get(name), [text, more] = [fact].flat();
      if (more) this.#onDemand(dd, text, more); else write(dd, text);
    }
  }

  /** What was open stays open, and what has the focus keeps it. */
  #onDemand(dd, text, more) {
    if (!dd.firstElementChild) {
      const details = make("details");
      details.append(make("summary"), make("p")); dd.replaceChildren(details);
    }
    const [summary, rest] = dd.firstElementChild.children;
    write(summary, text); write(rest, more);
  }

  /** Of a central stream: its promise, its trees and their noise. */
  #central({ central, mechanism, method, noise, unit }) {
    const inUnit = unit ? ` ${unit}` : "";
    const whose = central.unit === "event" ? "one event; replacing one by another costs twice that"
      : `the first ${grouped(central.events)} events of one user in any ${central.window}`;
    const facts = { Promise: `epsilon ${central.epsilon} for ${whose}`, "Who adds noise": "the edge, which sees exact sums" };
    if (method.holdout_periods) {
      facts["Hold-out"] = `${grouped(method.holdout_periods)} periods find the threshold, and their events are in no sum`;
    }
    if (method.threshold !== undefined) {
      const at = `${Number(method.threshold)}${inUnit}`;
      facts.Threshold = `numbers above ${at} count as ${at}`;
    }
    if (noise) {
      const of = noise.block > 1 ? `blocks of ${grouped(noise.block)} periods` : "a leaf each period";
      facts.Tree = `${noise.levels} levels of fan-out ${noise.fanout}, ${of}`;
      const each = Object.entries(noise.node), [[, first]] = each, alike = each.every(([, value]) => value === first);
      facts["Noise of a node"] = (alike ? each.slice(0, 1) : each)
        .map(([name, value]) => `${alike ? "" : `${name} `}${value < 1000 ? figure(value) : grouped(value)}${this.reading.sums.get(name)?.unit ? inUnit : ""}`).join(", ");
    }
    return { ...facts, Mechanism: MECHANISMS[mechanism.name] ?? mechanism.name, Digest: mechanism.digest };
  }

  /** Of a local stream: its promise, how users were asked and what came. */
  #local({ privacy, mechanism, method, reports }) {
    const window = typeof privacy.window === "string" ? privacy.window : `${privacy.window.periods} periods`;
    const own = (table) => Object.entries(table).filter(([key]) => !["name", "digest", "view", "mechanism", "fakes"].includes(key))
      .map(([key, value]) => `${key}${typeof value === "number" ? " =" : ""} ${value}`);
    const faked = mechanism.name === "faked", { shuffled } = privacy;
    const asked = faked ? mechanism.mechanism
      : mechanism.view ? `${mechanism.mechanism} behind the view ${mechanism.view}` : mechanism.name;
    const { malformed, undersized } = reports.rejected;
    const refused = undersized ? ", a round was too small" : malformed ? `, ${grouped(malformed)} rejected` : "";
    const reason = UNCLAIMED[privacy.unshuffled], { ofRun } = this;
    const none = ofRun?.unclaimed ? `; nothing is claimed in ${grouped(ofRun.unclaimed)} of its periods: ${UNCLAIMED[ofRun.unshuffled]}` : "";
    const alone = ofRun?.shuffled?.against_users, also = alone ? `; at most ${known(alone, mechanism.fakes)[0]}` : "";
    const largest = ofRun?.shuffled && claimed(ofRun.shuffled)[0] + also + none;
    return {
      Promise: privacy.unprotected_locally ? SHOWN : `epsilon ${privacy.epsilon} for one ${privacy.unit} in any ${window}`,
      "After mixing": shuffled ? claimed(shuffled) : `nothing is claimed${reason ? `: ${reason}` : ""}`,
      ...(shuffled?.against_users && { "Others known": known(shuffled.against_users, mechanism.fakes) }),
      ...(largest && { "Whole run": `after mixing at most ${largest}` }),
      "Window (w)": `${privacy.w} periods`,
      Mechanism: [asked, ...own(mechanism), ...(faked ? [`${grouped(mechanism.fakes)} fake reports a round`] : [])].join(", "),
      Method: [method.name, ...own(method)].join(", "),
      Reports: `${grouped(reports.counted)} counted of ${grouped(reports.received)} received${refused}`,
      Digest: mechanism.digest,
    };
  }
}
