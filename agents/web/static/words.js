// SPDX-License-Identifier: Apache-2.0
"use strict";
/* Numbers in words, the glossary, and the few things that every part of the page needs. Loaded first; knows nothing of
   the rest. The glossary has the form of JSON, so that the docs can quote it. */

document.documentElement.dataset.script = "runs";        /* what waits for a script is hidden without one */

const GLOSSARY = {
  "after mixing": "Reports are shuffled among many others before anybody counts them. Against everybody but the mixing zone this smaller epsilon holds, except with the tiny chance that stands beside it.",
  "approximated": "No report of this period is in the figures: what earlier reports said stands, with a wider band for what may have changed since.",
  "bits per user and period": "What the device of one user sends on average in one period.",
  "decision": "Whether a release speaks from reports of its own period (published), from earlier ones (approximated), or cannot say anything yet (unmeasured).",
  "digest": "A fingerprint of the mechanism with its parameters. Two releases with the same digest were randomized in the same way.",
  "epsilon": "How much may be learned about one user. Whatever somebody believed about a user before, the releases change the odds by a factor of e to the epsilon at most: 2.7 for epsilon 1, 7.4 for epsilon 2.",
  "estimate": "The best guess at the true figure from all reports so far. Reports carry noise, so it is never exact.",
  "estimates shaped by": "The rule by which the estimates on this page were fitted to the kind of question that is chosen above.",
  "events": "Raw events that were read. Only a replay shows their number; in a live deployment it stays at the edge.",
  "events per second": "Raw events that were read, divided by the time it took.",
  "fell": "Names that fell by more than chance since they were last said to move.",
  "first period": "The first figures stand on the reports of one period alone. Later ones learn from all periods before them.",
  "followed": "A name that the newest question did not find again. Its figure is the best estimate from all reports so far, and its bar is hollow.",
  "gone": "Names that the period before listed and this one does not: what is known of them has fallen below its error.",
  "hold-out": "Periods in which the threshold of a sum is found. Their events are in no sum.",
  "least share": "The share that the deployment declares as worth naming: nothing new below it is named, however sure it is.",
  "limit of chance": "The share up to which what is found may be chance. Nothing new below it is named; what was found before may stand below it while it is followed.",
  "log scale": "Equal distances are equal ratios: from 1 % to 2 % is as far as from 10 % to 20 %. What is zero or below lies on the bottom line.",
  "mean relative error": "How far measured figures are from the truth, as a part of the truth, on average over all figures and periods.",
  "mean squared error": "The mean square of how far the reports of a period alone are from the truth.",
  "mean squared error of the estimate": "The mean square of how far the estimates are from the truth. They learn from all periods so far, so that it is smaller than the mean squared error of what was measured.",
  "mechanism": "How each user's value is randomized before it leaves its owner. d is the number of possible values.",
  "method": "How users, or what each of them may reveal, are spread over time: who is asked in which period, and when an earlier answer stands.",
  "new": "Names that were found and that the period before did not list. They are named since what was measured of them is above both limits.",
  "newest period ends": "The end of the newest period that a release has come of.",
  "noise of a node": "The standard deviation of the noise in each part of the tree from which a sum over time is put together.",
  "off by": "How far the estimate is from the truth.",
  "others known": "What holds even against somebody who knows the reports of all other users.",
  "promise": "What holds whatever the others do: the noise is there before the data leaves its user, or, in a central stream, the edge.",
  "published": "Reports of this very period are in the figures.",
  "releases": "Records with the statistics of one period each, with their error and their privacy.",
  "reports": "Randomized answers of the users who were asked in this period: how many came, and how many of them were valid and in time.",
  "reports over budget": "Answers that would have broken the promise. Devices refuse to give them, so that this is 0.",
  "revision": "Which version of a period's figures this is. A higher one replaces the lower ones of the same period; a change of the configuration begins a new one.",
  "rose": "Names that rose by more than chance since they were last said to move.",
  "threshold": "In a central sum: the number to which larger ones are cut, so that one event cannot need too much noise.",
  "tree": "How noise is shared over time: a sum over any stretch is put together from few nodes, each with noise of its own.",
  "truth": "The exact figure, computed from the recording. Only a replay has it; a live deployment never computes it.",
  "two standard errors": "The band to either side of an estimate. About 19 truths of 20 lie inside.",
  "unmeasured": "Nothing is known yet: no round had enough reports, and the release has no figures.",
  "who adds noise": "In a central stream the trusted edge adds noise to exact sums; in all others each user's own device adds it.",
  "whole run": "The largest of the claims after mixing, over all releases of this run.",
  "window (w)": "The promise holds for any stretch of time as long as the window. w is the number of periods that such a stretch can touch, and what may be learned is shared among them."
};

/** The sentence that explains a word; undefined for a word that needs none. */
const explained = (word) => GLOSSARY[word.toLowerCase()];

const MINUTE = 60_000, HOUR = 60 * MINUTE, DAY = 24 * HOUR;

/** An element with text and classes. */
function make(tag, text = "", className = "") {
  const node = document.createElement(tag);
  node.textContent = text;
  if (className) node.className = className;
  return node;
}

/** Set a text only where it differs: a node that is written anew is laid out anew. */
function write(node, text) { if (node.textContent !== text) node.textContent = text; }

const threes = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, "\u202f");
const grouped = (value) => threes(String(Math.round(value)));
function short(value) {
  if (value >= 1e6) return `${(value / 1e6).toFixed(value < 1e7 ? 2 : 1)} M`;
  return value >= 1e4 ? `${(value / 1e3).toFixed(0)} k` : grouped(value);
}
const figure = (value) => (typeof value === "number" ? String(Number(value.toPrecision(3))) : "not computed");

/** The places a step needs: 2 for 0.25. */
function places(step) {
  for (let k = 0; k < 6; k++) if (Math.abs(step * 10 ** k - Math.round(step * 10 ** k)) < 1e-6) return k;
  return 6;
}

/** The power of ten at or below a number: 0.01 for 0.04. */
const tenth = (value) => 10 ** Math.floor(Math.log10(value) + 1e-9);
const percent = (value, step) => `${(100 * value).toFixed(places(100 * step))}\u202f%`;

/** A number to the places of a step, its digits in threes. */
function amount(value, step) {
  const [whole, part = ""] = Math.abs(value).toFixed(places(step)).split(".");
  const sign = value < 0 && /[1-9]/.test(whole + part) ? "\u2212" : "";
  return `${sign}${threes(whole)}${part && "."}${part}`;
}

const minutes = (iso) => iso.slice(11, iso.slice(17, 19) === "00" ? 16 : 19);
const span = (record) => `${minutes(record.start)} to ${minutes(record.end)} UTC`;
function every(ms) {
  const [unit, size] = [["d", DAY], ["h", HOUR], ["m", MINUTE], ["s", 1000], ["ms", 1]].find(([, size]) => ms % size === 0);
  return `${ms / size}${unit}`;
}

/** Where a key takes a slider that is at `at` of 0..n - 1: -1 for Escape, undefined for a key that is none of its own. */
function stepped(event, at, n) {
  const far = event.shiftKey ? 10 : 1;
  const to = {
    ArrowLeft: at - far, ArrowDown: at - far, ArrowRight: at + far, ArrowUp: at + far,
    PageDown: at - 10, PageUp: at + 10, Home: 0, End: n - 1, Escape: NaN,
  }[event.key];
  if (to === undefined || !n) return undefined;
  return Number.isNaN(to) ? -1 : Math.max(0, Math.min(n - 1, to));
}
