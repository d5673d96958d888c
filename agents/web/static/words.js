// SPDX-License-Identifier: Apache-2.0
"use strict";
/* Numbers in words, and the few things that every part of the page needs. Loaded first; knows nothing of the rest. */

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
