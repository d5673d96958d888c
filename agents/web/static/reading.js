// SPDX-License-Identifier: Apache-2.0
"use strict";
/* How statistics are read: as shares, in percent and from zero, or as numbers in their unit, on an axis that ends where
   they do. Needs axis.js. Not here: drawing. */

const LISTED_CELLS = 64;                                 /* of tables, that are listed whether lines show them or not */

/** Shares of users. One wide band flattens no line, and nothing is more than all. */
const SHARES = {
  unit: "", title: "share of users", logs: true, write: percent,
  ends(shown) {
    const peak = Math.max(1e-3, ...shown.map((c) => c.high)), reach = Math.max(0, ...shown.map((c) => c.reach));
    const above = Math.max(peak * 1.04, Math.min(reach, peak * 1.4));
    return [Math.min(0, ...shown.map((c) => c.low)), Math.min(above, Math.max(1, peak))];
  },
};

/** Numbers of a declared range, or sums, which have none. Their axis holds every line and nine of ten bands whole, and
    nothing beyond the range. */
class Numbers {
  constructor(range, unit, title = unit || "value") { this.range = range; this.unit = unit || ""; this.title = title; this.write = amount; }

  /** Whether its axis can be logarithmic: not where numbers may be below zero. */
  get logs() { return !this.range || this.range[0] >= 0; }

  ends(shown, from) {
    const key = [from, ...shown.map((c) => `${c.name} ${c.estimate.length}`)].join();
    if (key !== this.key) { this.key = key; this.found = this.#fitted(shown, from); }
    return this.found;
  }

  room(low, high) {
    if (!this.range) return Math.max((high - low) * 0.04, 1e-6);
    const [least, most] = this.range;
    return Math.max((high - low) * 0.04, (most - least) * 0.005);
  }

  #fitted(shown, from) {
    const [least, most] = this.range ?? [-Infinity, Infinity], lines = [], under = [], over = [];
    for (const { estimate, error, truth } of shown) {
      for (let i = from; i < estimate.length; i++) {
        if (!Number.isNaN(truth[i])) lines.push(truth[i]);
        if (Number.isNaN(estimate[i])) continue;
        lines.push(estimate[i]); under.push(estimate[i] - 2 * error[i]); over.push(estimate[i] + 2 * error[i]);
      }
    }
    if (!lines.length) return this.range ?? [0, 1];
    const tenths = (values, k) => values.sort((a, b) => a - b)[Math.floor((values.length - 1) * k)] ?? lines[0];
    const low = lines.reduce((a, b) => Math.min(a, b), tenths(under, 0.1));
    const high = lines.reduce((a, b) => Math.max(a, b), tenths(over, 0.9));
    const room = this.room(low, high);
    return [Math.max(least, low - room), Math.min(most, high + room)];
  }
}

/** Sums over events: of a declared unit or none, and without a range. */
class Sums extends Numbers {
  constructor(unit, title) { super(null, unit, title); }

  ends(shown, from) {
    const found = super.ends(shown, from);
    if (!found || !found.every(Number.isFinite)) return [0, 1];    /* nothing is known yet */
    const [low, high] = found, room = high > low ? (high - low) * 0.04 : Math.max(1, Math.abs(high) / 10);
    return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
  }

  room() { return 0; }
}

/** What a stream measures, in words, and how its page shows it. */
class Reading {
  constructor({ measure, of, one, many, ordered, numbers, names, tables, listed, unit, range, every_ms: everyMs, method, main, central, units, epsilon }) {
    this.unit = unit || ""; this.each = one; this.all = many; this.ordered = ordered;
    this.main = main ?? null;                            /* the one that is shown where others are of another unit */
    this.told = new Set(numbers);                        /* statistics that are numbers and no shares */
    this.listed = listed ? new Listed(listed) : null;    /* where few items of very many have figures */
    const someNumbers = numbers.length || listed?.kinds.some(({ number }) => number);
    this.numbers = someNumbers ? new Numbers(range, unit, [main ?? (numbers.length === 1 ? numbers[0] : "number"), unit].filter(Boolean).join(", ")) : null;
    this.sums = new Map();                               /* of a central stream: the scale of each name */
    if (central) {
      const of = (name) => (units ? units[name] : (this.main === null || name === this.main) && unit) || "";
      const scales = new Map(names.map((name) => [of(name), new Sums(of(name), `${of(name) || "events"} per ${every(everyMs)}`)]));
      for (const name of names) this.sums.set(name, scales.get(of(name)));
      this.numbers = this.sums.get(this.main ?? names[0]); this.several = scales.size > 1;
    }
    this.counts = new Numbers(null, "", "number");       /* beside the main statistic: how many there are */
    this.tabled = new Map();                             /* of each cell its place among all, and its table */
    (tables ?? []).forEach(({ title, cells }) => {
      for (const from = this.tabled.size; this.tabled.size < from + cells;) {
        this.tabled.set(names[this.tabled.size], { place: this.tabled.size, title });
      }
    });
    this.first = new Set(names.slice(0, tables?.[0]?.cells ?? 0));   /* of tables of numbers and shares: of the first one */
    const how = central ? `summed at the edge, epsilon ${figure(epsilon)}` : method;
    this.about = `${measure} of ${of} every ${every(everyMs)}, ${how}`;
    const shares = names.filter((name) => !this.isNumber(name)), inUnit = unit ? ` in ${unit}` : "";
    const both = `The chart shows one at a time: the ${numbers.join(", ")}${inUnit}, or ${shares.join(", ")} in percent.`;
    this.hint = this.numbers && shares.length ? both : "";
    if (this.hint && this.tabled.size) this.hint = "The chart shows numbers, or shares in percent: choose names in the list.";
    if (listed?.kinds.length > 1) this.hint = "The chart shows numbers, or shares in percent: choose names in the list.";
    if (this.several) this.hint = `The chart shows one at a time: ${names.join(", or ")}.`;
  }

  /** Whether a statistic is a number and no share. */
  isNumber(name) { return this.listed ? this.listed.kind(name).number : this.told.has(name); }

  /** Whether statistics stand in tables, of cells or of kinds of figures. */
  get inTables() { return this.tabled.size > 0 || this.listed?.kinds.length > 1; }

  /** On which scale a statistic lies. */
  scale(c) { return (c && this.sums.get(c.name)) || this.#local(c); }

  #local(c) {
    if (!c || !this.isNumber(c.name)) return SHARES;
    return this.main === null || c.name === this.main ? this.numbers : this.counts;
  }

  /** Whether only one line can be shown, because others would need another axis; where there are tables, those of one
      scale can be shown together. */
  get alone() { return this.sums.size ? this.several : Boolean(this.numbers) && !this.inTables; }

  /** Whether two statistics can be shown together. */
  together(a, b) { return !this.alone && this.scale(a) === this.scale(b); }

  /** Whether the table has it although no line shows it. */
  always(c) {
    return this.alone || (this.ordered && c.name === "none") || (this.tabled.has(c.name) && this.tabled.size <= LISTED_CELLS);
  }

  /** Rows of the table in their order: cells of one table together, in its own order. */
  rows(categories) {
    if (!this.tabled.size) return categories;
    return categories.toSorted((a, b) => this.tabled.get(a.name).place - this.tabled.get(b.name).place);
  }

  /** What stands above the first row of a table, "" where there are none. */
  heading(c) { return this.tabled.get(c.name)?.title ?? this.listed?.kind(c.name).title ?? ""; }

  /** Whether it waits in the legend until it is asked for: those who sent nothing are often most. */
  waits(c, size, asked) {
    if (this.listed) return this.listed.kind(c.name).place > 0;
    if (this.alone) return this.main === null ? !this.isNumber(c.name) : c.name !== this.main;
    if (this.numbers && !this.sums.size) return !this.first.has(c.name);
    return c.name === "none" && size > 2 && (!asked || this.ordered);
  }

  /** A statistic's name, in its unit; of a cell its values alone: the heading says of what. */
  title(c) {
    if (this.tabled.has(c.name)) return c.name.split(" | ").map((part) => part.slice(part.indexOf("=") + 1)).join(" | ");
    if (this.listed) return this.listed.item(c.name);
    return this.scale(c).unit ? `${c.name}, ${this.scale(c).unit}` : c.name;
  }

  /** The last place that a table says: of a number the second one of its narrowest band, of a share as the axis has it. */
  step(c, axis) {
    if (this.scale(c) === SHARES) return axis.scale === SHARES ? Math.min(0.001, tenth(axis.view.step / 20)) : 0.001;
    const [least, most] = this.scale(c).range ?? [-Infinity, Infinity];
    const band = Math.min(c.narrow * 2, most - least);
    return tenth((Number.isFinite(band) ? band : c.high || 1) / 20);
  }

  /** A value as the table has it, or nothing. */
  text(c, value, axis) { return Number.isNaN(value) ? "" : this.scale(c).write(value, this.step(c, axis)); }

  /** A value as a sentence has it: "mean 14.6 EUR". */
  said(c, value, axis) {
    const { unit } = this.scale(c);
    return Number.isNaN(value) ? c.name : `${c.name} ${this.text(c, value, axis)}${unit && ` ${unit}`}`;
  }

  /** All there is to say of one share in a period: "[9, 12) km: 12.7 % ± 9.8 %, truth 5.8 %". */
  sentence(c, i, axis) {
    const text = (value) => this.text(c, value, axis);
    const named = c.name === "none" || !this.unit ? c.name : `${c.name} ${this.unit}`;
    if (Number.isNaN(c.estimate[i])) return `${named}: not known`;
    const truth = Number.isNaN(c.truth[i]) ? "" : `, truth ${text(c.truth[i])}`;
    return `${named}: ${text(c.estimate[i])} \u00b1 ${text(2 * c.error[i])}${truth}`;
  }
}
