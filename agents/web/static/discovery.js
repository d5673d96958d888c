// SPDX-License-Identifier: Apache-2.0
"use strict";
/* Names that are found where nobody knows the list: which of them a period lists, since when, which moved and which are
   gone. Read from releases with a `discovery`. Needs words.js and terms.js. Not here: drawing (leaderboard.js). */

const FATES = ["new", "rose", "fell", "gone"];
const NAMED = 8;                                         /* names that a line of words has; the others are counted */

/** What a record keeps of how its names were found; null where they were not searched for. */
function discovered({ discovery }) {
  if (!discovery) return null;
  const { least, threshold, since, seen, rose = [], fell = [], gone = [] } = discovery;
  return { least, threshold, since: new Map(Object.entries(since)), seen: new Map(Object.entries(seen)), rose: new Set(rose), fell: new Set(fell), gone };
}

/** The names that a period lists, the largest first. */
function listedAt({ categories, records }, i) {
  const found = records[i]?.discovery;
  if (!found) return [];
  const names = [...found.since.keys()].map((name) => categories.get(name)).filter((c) => c && !Number.isNaN(c.estimate[i]));
  return names.sort((a, b) => b.estimate[i] - a.estimate[i] || (a.name < b.name ? -1 : 1));
}

/** What became of a name in a period: since when it is listed, whether the newest question found it or it is only
    followed, and what marks it: "new", "rose", "fell", "gone" or "". */
function fate(periods, i, name) {
  const found = periods.records[i].discovery, t = periods.t[i];
  if (!found?.since.has(name)) return { mark: found?.gone.includes(name) ? "gone" : "", since: null, followed: false };
  const since = found.since.get(name), first = i <= periods.first;      /* of the first period, all are new */
  const mark = since === t && !first ? "new" : found.rose.has(name) ? "rose" : found.fell.has(name) ? "fell" : "";
  return { mark, since, followed: found.seen.get(name) < (periods.records[i].measured ?? t) };
}

/** The names of a period that share a mark, the largest first. */
function fated(periods, i, mark) {
  const { discovery } = periods.records[i];
  if (!discovery) return [];
  return mark === "gone" ? discovery.gone : listedAt(periods, i).map(({ name }) => name).filter((name) => fate(periods, i, name).mark === mark);
}

/** When a period begins, with its day where that is not the day of another one. */
function began(periods, t, i) {
  const iso = new Date(periods.instant(t)).toISOString(), here = new Date(periods.instant(periods.t[i])).toISOString();
  const time = periods.everyMs % MINUTE ? iso.slice(11, 19) : iso.slice(11, 16);
  if (iso.slice(0, 10) === here.slice(0, 10)) return time;
  const day = `${Number(iso.slice(8, 10))} ${MONTHS[Number(iso.slice(5, 7)) - 1]}`;
  return periods.everyMs % DAY ? `${day}, ${time}` : day;
}

/** What a row of the table says of its name: "new", "rose, since 09:05", "followed, since 09:05", "gone". */
function fateSaid(periods, i, c) {
  if (!periods.records[i].discovery) return "";
  const { mark, since, followed } = fate(periods, i, c.name);
  if (since === null) return mark ? ` ${mark}` : " not listed";
  return ` ${[mark, followed && "followed", mark !== "new" && `since ${began(periods, since, i)}`].filter(Boolean).join(", ")}`;
}

/** Some names in a line: "storm, weather and 3 more". */
function some(names) {
  const more = names.length - NAMED;
  return more > 0 ? `${names.slice(0, NAMED).join(", ")} and ${grouped(more)} more` : names.join(", ");
}

/** A share with so many places that it has three digits. */
const threeDigits = (share) => percent(share, share > 0 ? Math.max(1e-6, tenth(share) / 100) : 1);

/** A declared share, with the digits that were declared. */
const declaredShare = (share) => `${Number((100 * share).toPrecision(6))}\u202f%`;

/** The limits in force in a period, and in which one the limit of chance was found: a period that asked nothing has that
    of the newest one before it that did; null where there is none. */
function limitsAt({ records }, i) {
  const { discovery } = records[i];
  for (let k = i; discovery && k >= 0; k--) {
    const threshold = records[k].discovery?.threshold ?? null;
    if (threshold !== null) return { chance: threshold, least: discovery.least, at: k, above: Math.max(threshold, discovery.least) };
  }
  return discovery ? { chance: null, least: discovery.least, at: -1, above: null } : null;
}

/** What a period found, in a sentence: for who hears the page and for a picture without rows. */
function foundSaid(periods, i) {
  const { discovery } = periods.records[i], listed = listedAt(periods, i).length;
  if (!discovery) return "";
  const { above } = limitsAt(periods, i);
  if (!listed) return above === null ? "nothing is listed" : `nothing found above ${threeDigits(above)}`;
  return FATES.map((mark) => [mark, fated(periods, i, mark)]).filter(([, names]) => names.length)
    .map(([mark, names]) => `${mark}: ${some(names)}`).join("; ");
}

/** The lines below a leaderboard: who is new, rose, fell and is gone, and the two limits. */
class Fates {
  constructor(box) {
    this.box = box;
    this.said = new Map([...box.children].map((pair) => [pair.dataset.fate, pair.querySelector("dd")]));
  }

  /** What one period has. */
  fill(periods, i) {
    const { discovery } = periods.records[i];
    this.box.hidden = !discovery;
    if (!discovery) return;
    const first = i <= periods.first;
    for (const mark of FATES) {
      const names = fated(periods, i, mark);
      write(this.said.get(mark), names.length ? some(names) : mark === "new" && first ? "all: it is the first period" : "none");
      this.said.get(mark).parentNode.classList.toggle("none", !names.length);
    }
    const { chance, least, at } = limitsAt(periods, i);
    write(this.said.get("limit"), chance === null ? "nothing was asked" : at === i ? threeDigits(chance) : `${threeDigits(chance)}, of ${began(periods, periods.t[at], i)}`);
    write(this.said.get("least"), least > 0 ? declaredShare(least) : "none declared");
  }
}
