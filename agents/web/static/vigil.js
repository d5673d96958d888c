// SPDX-License-Identifier: Apache-2.0
"use strict";
/* Whether what the page shows is still the newest: says loudly that the connection is lost, and of which streams no
   release has come for how many periods. Needs words.js; app.js tells it of the connection, panels of their periods. */

const LOOK_MS = 1000;
const MISSED = 2;                                        /* periods without a release that are worth an alarm */
const GRACE_MS = 5000;                                   /* for a round and the way of its release */
const QUIET_MS = 20_000, QUIET_TIMES = 6;                /* of a recording's clock: so long, and so many times the usual gap */
const APART_MS = 250, GAPS = 3;                          /* what counts as a gap, and how many make a usual one */

const ago = (ms) => (ms < 2 * MINUTE ? `${Math.round(ms / 1000)} s` : ms < 2 * HOUR ? `${Math.round(ms / MINUTE)} min` : `${Math.round(ms / HOUR)} h`);

class Vigil {
  /** `nodes`: the status line, the alarm and the list of streams. */
  constructor({ status, alarm, overview }) {
    this.status = status; this.alarm = alarm; this.overview = overview;
    this.state = "connecting"; this.more = {}; this.since = Date.now();
    this.running = "Running"; this.finished = ""; this.live = false; this.clock = null; this.latenessMs = 0;
    this.panels = []; this.gaps = new Map();             /* of each stream when its last release came, and the usual gap */
    setInterval(() => this.look(), LOOK_MS);
  }

  /** A run has begun. */
  begin({ live, clock = null, lateness_ms: latenessMs = 0 }, panels) {
    this.live = live; this.clock = clock; this.latenessMs = latenessMs ?? 0; this.panels = panels; this.finished = ""; this.gaps.clear();
    this.running = live ? "Following" : "Running";
    this.look();
  }

  /** A release has come. */
  heard(stream) {
    const now = performance.now(), { at = NaN, usual = 0, many = 0 } = this.gaps.get(stream) ?? {};
    const gap = now - at, apart = gap > APART_MS;        /* those that come at once are the history */
    this.gaps.set(stream, { at: now, usual: apart ? Math.max(gap, usual * 0.8) : usual, many: many + apart });
  }

  /** Something became of the connection. */
  connection(state, more = {}) {
    if (state === "lost" && this.state !== "lost") this.since = Date.now();
    this.state = state; this.more = more;
    this.look();
  }

  finish(text) { this.finished = text; this.look(); }

  /** Periods that a stream should have had since its newest release, and for how long it is silent. */
  missed(panel, offset) {
    const { periods } = panel, n = periods.length;
    if (!this.live || !n) return null;
    if (this.clock === "wall") {
      const silent = Date.now() + offset - Date.parse(periods.records[n - 1].end), late = silent - this.latenessMs - GRACE_MS;
      const many = Math.floor(late / periods.everyMs);
      return many >= MISSED ? { many, silent } : null;
    }
    if (this.clock !== "feed") return null;
    const { at, usual, many } = this.gaps.get(panel.spec.name) ?? {}, silent = performance.now() - at;
    return many >= GAPS && silent > Math.max(QUIET_MS, QUIET_TIMES * usual) ? { many: 0, silent } : null;
  }

  look() {
    const { state, more } = this, offset = this.link?.offset ?? 0;
    if (state === "lost" && !this.finished) {
      const at = new Date(this.since).toISOString().slice(11, 19), newest = this.#newest();
      const tries = more.tries > 1 ? `, tried ${grouped(more.tries)} times` : "";
      const shows = newest ? ` What you see ends with ${newest}.` : "";
      this.#say("Connection lost, trying again", "lost", `Connection lost at ${at} UTC: the server has ended, stopped or cannot be reached.${shows} Trying again${tries}.`);
      return;
    }
    if (this.finished) { this.#say(this.finished, "done", ""); return; }
    if (state === "ended") { this.#say("The server has ended", "done", ""); return; }
    if (!this.panels.length) {
      const slow = `The server is slow to answer: waiting for ${Math.round((Date.now() - this.since) / 1000)} s`;
      this.#say(state === "slow" ? slow : state === "open" ? "Connected: no run has begun yet" : "Connecting", "waiting", "");
      return;
    }
    this.#streams(offset);
  }

  #streams(offset) {
    const late = new Map(this.panels.map((panel) => [panel, this.missed(panel, offset)]).filter(([, missed]) => missed));
    for (const panel of this.panels) {
      const missed = late.get(panel);
      panel.late.hidden = !missed;
      if (missed) write(panel.late, `No release for ${Vigil.long(missed)}`);
    }
    this.overview.mark(late);
    if (!late.size) { this.#say(this.running, "open", ""); return; }
    const all = late.size === this.panels.length, [[{ spec }, { many, silent }]] = late;
    const whose = this.panels.length === 1 ? "" : all ? " of any stream" : late.size === 1 ? ` of ${spec.name}` : ` of ${late.size} of ${this.panels.length} streams`;
    const text = `No release${whose} for ${Vigil.long({ many, silent })}. The server answers, so look at the workers: murmurate status.`;
    this.#say(`${this.running}: ${late.size === this.panels.length ? "nothing new" : `${late.size} late`}`, "late", text);
  }

  static long({ many, silent }) { return many ? `${grouped(many)} periods (${ago(silent)})` : ago(silent); }

  #newest() {
    const ends = this.panels.flatMap(({ periods }) => (periods.length ? [periods.records.at(-1).end] : []));
    return ends.length ? `${ends.sort().at(-1).replace("T", " ").replace(/(:00)?Z$/, "")} UTC` : "";
  }

  #say(text, state, alarm) {
    write(this.status, text);
    this.status.dataset.state = document.body.dataset.link = state;
    write(this.alarm.firstElementChild, alarm);
    this.alarm.hidden = !alarm; this.alarm.dataset.state = state;
    const mark = alarm ? "\u26a0 " : "", plain = document.title.replace(/^\u26a0 /, "");
    if (document.title !== mark + plain) document.title = mark + plain;
  }
}
