// SPDX-License-Identifier: Apache-2.0
"use strict";
/* Releases that list few items of very many: those that are named, and the largest of the others, each with its figures.
   A figure's kind is the end of its name. Needs words.js. Not here: drawing. */

const LISTED_ITEMS = 64;                                 /* items of a period that the table has, of each kind of figure */

class Listed {
  /** `kinds`: of each kind of figure the end of its name, its title, and whether it is a number and no share. */
  constructor({ kinds, named }) {
    this.named = new Set(named);
    this.kinds = kinds.map((kind, place) => ({ ...kind, place }));
    this.longest = this.kinds.toSorted((a, b) => b.end.length - a.end.length);
  }

  /** The kind of a figure, by its name. */
  kind(name) { return this.longest.find(({ end }) => name.endsWith(end)); }

  /** The item that a figure is of. */
  item(name) { const { end } = this.kind(name); return end ? name.slice(0, -end.length) : name; }

  /** The rows of a period: its items in their order, named ones first and then by size, kind by kind. */
  rows(categories, { items }) {
    const rows = [];
    for (const { end } of this.kinds) {
      for (const item of items.slice(0, LISTED_ITEMS)) {
        const c = categories.get(item + end);
        if (c) rows.push(c);
      }
    }
    return rows;
  }

  /** What there is to say of how an item came in. */
  said(c, i, { selection }) {
    const item = this.item(c.name);
    if (this.named.has(item)) return " named";
    if (!selection || this.kind(c.name) !== this.#by(selection)) return "";
    return Math.abs(c.estimate[i]) > selection.errors * c.error[i] ? " found" : " may be chance";
  }

  /** What a reader is to know of those that were found. */
  hint({ of, found, errors }) {
    if (!found.length) return "";
    const beyond = `below ${figure(errors)} standard errors such an item may be chance, and its figure is rather too large`;
    return `The ${grouped(found.length)} largest of ${grouped(of)} are found anew in each period: ${beyond}.`;
  }

  #by({ by }) { return this.kinds.find(({ number }) => number === (by === "mean")) ?? this.kinds[0]; }
}
