// SPDX-License-Identifier: Apache-2.0
"use strict";
/* What happened to a stream, told from its releases alone: periods without one, contributors that were given up, figures
   that were revised, a configuration that was applied, a threshold that was crossed or found. Needs words.js. */

const EVENTS_KEPT = 200;                                 /* the newest ones */
const SURE = 0.9;                                        /* from which confidence on a crossing is told */

class Events {
  constructor(periods) {
    this.periods = periods;
    this.marks = [];                                     /* of each event the period, its kind, its words and how many of them in a row */
    this.sides = new Map();                              /* of each threshold the side that was told last */
  }

  /** The period at this place has come. */
  append(i) {
    const { t, records } = this.periods, record = records[i], before = records[i - 1];
    if (!before) { this.#crossed(i, record); return; }
    const lost = t[i] - t[i - 1] - 1;
    if (lost) this.#tell(i, "lost", `${grouped(lost)} ${lost > 1 ? "periods have" : "period has"} no release`);
    if (record.revision > before.revision) this.#tell(i, "config", `another configuration was applied (revision ${record.revision})`);
    for (const [name, words] of Object.entries({ epsilon: "epsilon", method: "the method", w: "the window w" })) {
      const [was, is] = [before.terms[name], record.terms[name]];
      if (was !== is) this.#tell(i, "config", `${words} is ${is} from here on, and was ${was}`);
    }
    if (record.terms.threshold !== null && before.terms.threshold === null) {
      this.#tell(i, "found", `the hold-out has ended: numbers above ${Number(record.terms.threshold)} count as that`);
    }
    const missing = record.reports?.missing;
    if (missing) this.#tell(i, "missing", `patience ended: ${grouped(missing)} ${missing > 1 ? "contributors were" : "contributor was"} given up, and those reports do not count`);
    const malformed = record.reports?.rejected.malformed;
    if (malformed) this.#tell(i, "malformed", `${grouped(malformed)} reports were rejected as malformed`);
    this.#crossed(i, record);
  }

  /** The period at this place was computed again. */
  revise(i) { this.#tell(i, "revised", `the figures were revised (revision ${this.periods.records[i].revision})`); }

  /** A monitored statistic is surely on the other side of its threshold. */
  #crossed(i, { thresholds }) {
    for (const [name, { side, confidence }] of Object.entries(thresholds)) {
      if (confidence < SURE) continue;
      const was = this.sides.get(name);
      this.sides.set(name, side);
      if (was && was !== side) this.#tell(i, `crossed ${name}`, `${name} is ${side} its threshold, ${Math.floor(100 * confidence)} % sure`);
    }
  }

  #tell(i, kind, words) {
    const last = this.marks.findLast((mark) => mark.kind === kind);
    if (last && Math.abs(i - last.until) <= 1 && kind !== "lost" && kind !== "config") {      /* one after the other is one event */
      last.until = i; last.words = words; last.count += 1; last.i = Math.min(last.i, i);
      return;
    }
    this.marks.push({ i, until: i, kind, words, count: 1 });
    if (this.marks.length > EVENTS_KEPT) this.marks.shift();
  }

  /** The newest events in words, the newest first. */
  said(most) {
    const { records } = this.periods;
    return this.marks.slice(-most).reverse().map(({ i, words, count }) => {
      const { start, end } = records[i], many = count > 1 ? `, in ${grouped(count)} periods` : "";
      return { when: `${start.slice(0, 10)}, ${minutes(start)} to ${minutes(end)} UTC`, words: words + many };
    });
  }
}
