// SPDX-License-Identifier: Apache-2.0
"use strict";
/* Axes: round ends and steps, linear or logarithmic, and the line of time. Needs words.js. Not here: what is drawn
   between them, and on which scale a statistic is read (reading.js). */

const STEPS = [1e3, 5e3, 15e3, 3e4, MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE,
  HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 28 * DAY, 91 * DAY, 364 * DAY];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DECADES = 2;                                       /* a logarithmic axis goes no deeper below its top */
const WIDE_PLOT = 560;                                   /* pixels from which on names stand at the ends of lines */

/** Round ends and a round step for an axis that has to hold these two. */
function rounded([from, to]) {
  const power = 10 ** Math.floor(Math.log10((to - from) / 5));
  const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((s) => (to - from) / s <= 5.001);
  return { low: Math.floor(from / step + 1e-9) * step, high: Math.ceil(to / step - 1e-9) * step, step, log: false };
}

/** The axis of these lines on their scale from a period on; logarithmic if that is asked for. */
function axisOf(scale, shown, from, log) {
  const ends = scale.ends(shown, from), linear = rounded(ends);
  if (!log || !(ends[1] > 0)) return linear;
  const least = shown.reduce((low, c) => Math.min(low, c.least), ends[1]);
  const low = tenth(Math.max(least, ends[1] / 10 ** DECADES)), top = tenth(ends[1]);
  const high = [1, 2, 5, 10].map((k) => k * top).find((value) => value >= ends[1] * (1 - 1e-9));
  return { low: Math.min(low, high / 10), high, step: linear.step, log: true };
}

/** Where a value lies between the ends of an axis: 0 at the bottom, 1 at the top. */
function along({ low, high, log }, value) {
  return log ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : (value - low) / (high - low);
}

/** The values at which an axis has a line, each with the step to which it is written. */
function ticks({ low, high, step, log }) {
  const found = [];
  if (!log) {
    for (let k = 0; low + k * step <= high + step / 2; k++) found.push([low + k * step, step]);
    return found;
  }
  for (let power = low; power <= high * 1.001; power *= 10) {
    for (const k of [1, 2, 5]) if (k * power <= high * 1.001) found.push([k * power, power]);
  }
  return found;
}

/** Lines across a picture at every tick of its axis, and what each stands for. */
function ruled(c, view, { write: written }, ink, y) {
  c.lineWidth = 1; c.textBaseline = "middle"; c.textAlign = "right";
  for (const [value, step] of ticks(view)) {
    const at = Math.round(y(value)) + 0.5;
    c.strokeStyle = Math.abs(value) < view.step / 2 && !view.log ? ink.rule : ink.grid;
    c.beginPath(); c.moveTo(view.left, at); c.lineTo(view.left + view.width, at); c.stroke();
    c.fillStyle = ink.soft; c.fillText(written(value, step), view.left - 8, at);
  }
}

/** What an axis shows, above its upper end. */
function titled(c, text, ink) {
  c.textAlign = "left"; c.textBaseline = "middle"; c.fillStyle = ink.soft; c.fillText(text, 0, 9);
}

/** Upright lines at every tick of an axis that goes across, which begin so far above the picture, and below them what
    as many of them stand for as have room. */
function upright(c, view, scale, ink, across, above) {
  c.lineWidth = 1; c.textBaseline = "top"; c.textAlign = "center";
  let free = -Infinity;
  for (const [value, step] of ticks(view)) {
    const x = Math.round(across(value)) + 0.5, text = scale.write(value, step), half = c.measureText(text).width / 2;
    c.strokeStyle = ink.grid; c.beginPath(); c.moveTo(x, view.top - above); c.lineTo(x, view.top + view.height); c.stroke();
    c.fillStyle = ink.soft;
    if (x - half > free + 8) { c.fillText(text, x, view.top + view.height + 8); free = x + half; }
  }
  titled(c, scale.title, ink);
}

/** An instant as an axis with this step says it. */
function clock(at, step) {
  const date = new Date(at), iso = date.toISOString();
  if (step >= DAY || at % DAY === 0) return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`;
  return step < MINUTE ? iso.slice(11, 19) : iso.slice(11, 16);
}

/** Times below a picture, from one instant to another, with what they are. */
function timed(c, view, begin, end, ink) {
  const bottom = view.top + view.height, wide = view.w >= WIDE_PLOT;
  const room = (wide ? 78 : 58) / (view.width / Math.max(1, end - begin));
  const step = STEPS.find((s) => s >= room) || STEPS.at(-1) * Math.ceil(room / STEPS.at(-1));
  c.textAlign = "center"; c.textBaseline = "top"; c.strokeStyle = ink.rule; c.fillStyle = ink.soft; c.lineWidth = 1;
  for (let at = Math.ceil(begin / step) * step; at <= end; at += step) {
    const x = Math.round(view.left + ((at - begin) / (end - begin)) * view.width) + 0.5;
    c.beginPath(); c.moveTo(x, bottom + 9); c.lineTo(x, bottom + 14); c.stroke();
    const text = clock(at, step), free = view.left + view.width + (wide ? 6 : 13) - c.measureText(text).width / 2;
    if (x <= free) c.fillText(text, x, bottom + 18);
  }
  c.textAlign = wide ? "left" : "right";
  if (wide) c.fillText("time, UTC", view.left + view.width + 14, bottom + 18);
  else c.fillText("time, UTC", view.left + view.width + 6, bottom + 34);
}
