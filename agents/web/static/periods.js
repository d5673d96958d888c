// SPDX-License-Identifier: Apache-2.0
"use strict";
/* A stream's releases, column by column. What a release or the truth has null for is NaN: nothing is known of it. */

const WORTH_SAYING = 3;                                  /* rounds in a row below min_batch */

/** That fewer reports came than a release needs; "" where it is not their number that it lacks. */
function lacking(reports, minBatch) {
  if (!reports) return "";                               /* of a central stream, that has none */
  if (reports.counted || !reports.rejected.undersized) return "";
  return `fewer than the ${grouped(minBatch)} reports that a release needs`;
}

/** How far the hold-out of a central stream is: "hold-out: period 12 of 60"; "" where there is none. */
function found({ holdout }) {
  return holdout ? `hold-out: period ${grouped(holdout.period)} of ${grouped(holdout.periods)}` : "";
}

/** The terms under which a release was made: what changes only where somebody changes the configuration. */
function terms({ method, privacy, central }) {
  return {
    method: method?.name, epsilon: (privacy ?? central)?.epsilon, w: privacy?.w, threshold: method?.threshold ?? null,
  };
}

/** Of a release that lists few items of very many: how they were chosen, and which. */
function chosen({ selection }) {
  return selection ? { selection, items: [...selection.named, ...selection.found] } : { items: [] };
}

class Periods {
  constructor({ names, every_ms: everyMs, periods, thresholds = {}, min_batch: minBatch = 0, warning = null, central = false }) {
    this.everyMs = everyMs; this.expected = periods;     /* periods that the run will have, or null */
    this.thresholds = thresholds; this.minBatch = minBatch;
    this.warning = warning;                              /* what a replay's source has too few users for, or null */
    this.known = 0; this.first = -1;                     /* releases that say anything, and the first of them */
    this.exact = Boolean(central);                       /* the first figures are as good as any */
    this.events = new Events(this);
    this.row = 0; this.lack = "";                        /* rounds in a row below min_batch, and what they had */
    this.t = []; this.published = []; this.records = [];
    this.start = 0; this.hasTruth = false;
    this.categories = new Map();
    for (const name of names) this.#add(name);
  }

  get length() { return this.t.length; }

  /** The period whose figures stand on it alone, and are no fact yet; -1 where there is none. */
  get unsure() { return this.exact ? -1 : this.first; }

  #add(name) {
    const [estimate, error, truth] = [0, 1, 2].map(() => new Array(this.length).fill(NaN));
    this.categories.set(name, {
      name, estimate, error, truth, sum: 0, high: 0, low: 0, least: Infinity, reach: 0, narrow: Infinity,
      slot: -1, shown: false, listed: false, dash: 0, threshold: Object.hasOwn(this.thresholds, name) ? this.thresholds[name] : NaN,
    });
  }

  /** Take the estimates of a release whose period is there already, under a higher revision; false if it is not. */
  revise(release) {
    const at = release.t - this.t[0];                    /* periods follow one another */
    const record = this.records[at];
    if (this.t[at] !== release.t || !(release.revision > record.revision)) return false;
    for (const c of this.categories.values()) {
      c.sum -= c.estimate[at] || 0;
      c.estimate[at] = this.#number(release.estimate, c.name); c.error[at] = this.#number(release.stderr, c.name);
      c.sum += c.estimate[at] || 0;
    }
    record.revision = release.revision; record.thresholds = release.thresholds ?? {}; record.discovery = discovered(release);
    this.events.revise(at);
    return true;
  }

  /** Take a release; false if its period is not newer than the last one. */
  append(release, truth) {
    const n = this.length;
    if (n && release.t <= this.t[n - 1]) return false;
    if (!n) this.start = Date.parse(release.start);
    for (const name of Object.keys(release.estimate)) if (!this.categories.has(name)) this.#add(name);
    for (const c of this.categories.values()) {
      const estimate = this.#number(release.estimate, c.name), error = this.#number(release.stderr, c.name);
      const real = truth ? this.#number(truth, c.name) : NaN;
      c.estimate.push(estimate); c.error.push(error); c.truth.push(real);
      c.high = Math.max(c.high, estimate || 0, real || 0);
      if (!Number.isNaN(estimate)) {
        c.sum += estimate; c.low = Math.min(c.low, estimate);
        if (estimate > 0) c.least = Math.min(c.least, estimate);
        c.reach = Math.max(c.reach, estimate + 2 * (error || 0));
        if (error > 0) c.narrow = Math.min(c.narrow, error);
      }
    }
    this.known += release.decision !== "unmeasured";
    if (this.known && this.first < 0) this.first = n;
    if (release.reports?.slots) {
      this.lack = lacking(release.reports, this.minBatch);
      this.row = this.lack ? this.row + 1 : 0;
    }
    this.hasTruth ||= Boolean(truth);
    this.t.push(release.t); this.published.push(release.decision === "published");
    this.records.push({                                  /* what the table needs, so that releases need not be kept */
      start: release.start, end: release.end, decision: release.decision, measured: release.measured_t,
      reports: release.reports, found: found(release), ...chosen(release), discovery: discovered(release), revision: release.revision, thresholds: release.thresholds ?? {},
      terms: terms(release),
    });
    this.events.append(n);
    return true;
  }

  /** Whether the newest figures are lost in their noise: no estimate is as large as two of its standard errors. */
  get drowned() {
    const n = this.length - 1;
    if (n < 0 || !this.known) return false;
    const figures = [...this.categories.values()].filter((c) => c.error[n] > 0);
    return figures.length > 0 && figures.every((c) => Math.abs(c.estimate[n]) < 2 * c.error[n]);
  }

  #number(table, name) {
    const value = table[name];
    return typeof value === "number" ? value : NaN;
  }

  /** What a release that says nothing says: "nothing yet: fewer than the 1 000 reports that a release needs". */
  nothing(i) {
    const { reports, found } = this.records[i], lack = lacking(reports, this.minBatch);
    if (found) return found;
    return lack ? `nothing yet: ${lack}` : "nothing measured yet";
  }

  /** What a reader is to know of a stream with too few reports; "" where there is nothing of that kind. */
  get shortage() {
    if (this.row < WORTH_SAYING) return (!this.known && this.warning) || "";
    const remedy = this.warning || "Allow a smaller min_batch, longer periods or a shorter window.";
    return `${grouped(this.row)} rounds in a row had ${this.lack}. ${remedy}`;
  }

  /** Milliseconds since 1970 at which period t starts. */
  instant(t) { return this.start + (t - this.t[0]) * this.everyMs; }
}
