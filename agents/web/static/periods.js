"use strict";
/* A stream's releases, column by column. Of numbers, what was not measured is NaN, and so are the mean and the
   distribution of nobody: a release then holds the middle of the range, or zeros, which stand for no figure. */

class Periods {
  constructor({ names, every_ms: everyMs, periods, measure, thresholds = {} }) {
    this.everyMs = everyMs; this.expected = periods;     /* periods that the run will have, or null */
    this.measure = measure; this.thresholds = thresholds;
    this.t = []; this.published = []; this.records = [];
    this.start = 0; this.hasTruth = false;
    this.categories = new Map();
    for (const name of names) this.#add(name);
  }

  get length() { return this.t.length; }

  #add(name) {
    const [estimate, error, truth] = [0, 1, 2].map(() => new Array(this.length).fill(NaN));
    this.categories.set(name, {
      name, estimate, error, truth, sum: 0, high: 0, low: 0, reach: 0, narrow: Infinity,
      slot: -1, shown: false, listed: false, dash: 0, threshold: this.thresholds[name] ?? NaN,
    });
  }

  /** Take the estimates of a release whose period is there already, under a higher revision; false if it is not. */
  revise(release) {
    const at = release.t - this.t[0];                    /* periods follow one another */
    const record = this.records[at];
    if (this.t[at] !== release.t || !(release.revision > record.revision)) return false;
    for (const c of this.categories.values()) {
      if (Number.isNaN(c.estimate[at])) continue;
      c.sum -= c.estimate[at];
      c.estimate[at] = this.#number(release.estimate, c.name); c.error[at] = this.#number(release.stderr, c.name);
      c.sum += c.estimate[at] || 0;
    }
    record.revision = release.revision; record.thresholds = release.thresholds ?? {};
    return true;
  }

  /** Take a release; false if its period is not newer than the last one. */
  append(release, truth) {
    const n = this.length;
    if (n && release.t <= this.t[n - 1]) return false;
    if (!n) this.start = Date.parse(release.start);
    for (const name of Object.keys(release.estimate)) if (!this.categories.has(name)) this.#add(name);
    const blank = this.measure !== "frequency" && release.measured_t === null;
    const nobody = this.measure === "distribution" && truth && Object.values(truth).every((share) => share === 0);
    for (const c of this.categories.values()) {
      const estimate = blank ? NaN : this.#number(release.estimate, c.name);
      const error = Number.isNaN(estimate) ? NaN : this.#number(release.stderr, c.name);
      const real = truth && !nobody ? this.#number(truth, c.name) : NaN;
      c.estimate.push(estimate); c.error.push(error); c.truth.push(real);
      if (!Number.isNaN(estimate)) {
        c.sum += estimate; c.low = Math.min(c.low, estimate);
        c.high = Math.max(c.high, estimate, real || 0); c.reach = Math.max(c.reach, estimate + 2 * (error || 0));
        if (error > 0) c.narrow = Math.min(c.narrow, error);
      }
    }
    this.hasTruth ||= Boolean(truth);
    this.t.push(release.t); this.published.push(release.decision === "published");
    this.records.push({                                  /* what the table needs, so that releases need not be kept */
      start: release.start, end: release.end, decision: release.decision, measured: release.measured_t,
      reports: release.reports, revision: release.revision, thresholds: release.thresholds ?? {},
    });
    return true;
  }

  #number(table, name) {
    const value = table[name];
    const nobodys = this.measure === "mean" && name === "mean" && table.present === 0;
    return typeof value === "number" && !nobodys ? value : NaN;
  }

  /** Milliseconds since 1970 at which period t starts. */
  instant(t) { return this.start + (t - this.t[0]) * this.everyMs; }
}
