// SPDX-License-Identifier: Apache-2.0
"use strict";
/* The page: reads frames (from the server, or those inside a report.html), keeps a Panel for each stream and draws at
   most once a screen refresh. */

const $ = (id) => document.getElementById(id);
const panels = new Map(), figures = new Map(), newest = new Map();   /* of each stream the newest release's privacy */
let waiting = false, finished = false, live = false, serveAll = false;

explainAll(document.body); explainAll($("stream").content);
const note = new Note(), overview = new Overview($("overview"));
const vigil = new Vigil({ status: $("status"), alarm: $("alarm"), overview });

function tile(name, text) {
  if (!figures.has(name)) {
    const pair = make("div"), value = make("dd"), named = make("dt");
    named.append(term(name)); pair.append(named, value); $("figures").append(pair); figures.set(name, value);
  }
  if (figures.get(name).textContent !== text) figures.get(name).textContent = text;
}

function schedule() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame((now) => {
    waiting = false;
    for (const panel of panels.values()) panel.render(now);
    if ([...panels.values()].some((panel) => panel.dirty && panel.plot.clientWidth)) schedule();
  });
}

/** What the newest releases of all streams claim together, where every user answers for each of them. */
function addUp({ stream, t, privacy }) {
  if (t >= (newest.get(stream)?.t ?? t)) newest.set(stream, { t, claim: privacy?.shuffled });
  const claims = [...newest.values()].map(({ claim }) => claim).filter(Boolean);
  $("together").hidden = claims.length < 2;
  if (claims.length < 2) return;
  const text = `After mixing, the newest releases of ${claims.length} streams together, for a user who answers for each: ${together(claims)}.`;
  if ($("together").textContent !== text) $("together").textContent = text;
}

const TAKE = {
  hello(frame) {
    const { deployment, promise, curator = [], streams, mode, serve_all: all = false } = frame;
    panels.clear(); figures.clear(); newest.clear(); finished = false; serveAll = all; $("together").hidden = true;   /* a hello is the start of a run, this one's or the next one's */
    document.title = `${deployment}: Murmurate`; $("deployment").textContent = deployment;
    $("mode").textContent = frame.recorded ? "recorded" : mode; $("mode").hidden = false; $("loading").hidden = true;
    $("promise").replaceChildren(...promise.map((sentence) => make("li", sentence)));
    $("curator").replaceChildren(...curator.map((sentence) => make("li", sentence)));
    $("central").hidden = !curator.length;
    document.querySelector(".promise").hidden = !promise.length && !curator.length;
    $("figures").replaceChildren();
    live = mode === "live";
    if (!live && !frame.recorded) { tile("events", "0"); tile("events per second", "0"); }   /* live these are the edge's own to know */
    tile("releases", "0");
    for (const spec of streams) panels.set(spec.name, new Panel(spec, streams.length <= ALL_DRAWN));
    $("streams").replaceChildren(...[...panels.values()].map((panel) => panel.root));
    overview.take([...panels.values()]);
    $("reading").hidden = Boolean($("frames")) || !streams.some(({ shaped }) => shaped);
    const central = streams.filter((spec) => spec.central).length, local = central < streams.length;
    $("noise").textContent = [local && "added to each user's value before it left the edge", central && "added by the trusted edge to sums"]
      .filter(Boolean).join(", or ");
    vigil.begin({ ...frame, live }, [...panels.values()]);
  },
  release({ release, truth }) {
    panels.get(release.stream)?.add(release, truth);
    if (serveAll) addUp(release);
    if (release.read) tile("estimates shaped by", release.read.by);
    if (!live) return;
    vigil.heard(release.stream);
    tile("releases", grouped([...panels.values()].reduce((sum, { periods }) => sum + periods.length, 0)));
    tile("newest period ends", `${minutes(release.end)} UTC`);
  },
  progress({ events, events_per_second: speed, releases, of }) {
    tile("events", short(events)); tile("events per second", short(speed));
    tile("releases", of ? `${grouped(releases)} of ${grouped(of)}` : grouped(releases));
  },
  done({ summary: s = {} }) {
    finished = true;
    const some = (name, value, say = figure) => { if (typeof value === "number") tile(name, say(value)); };   /* null: of no use */
    some("events", s.events, short); some("events per second", s.events_per_second, short);
    some("releases", s.releases, grouped); some("published", s.published, grouped);
    if (s.unmeasured) tile("unmeasured", grouped(s.unmeasured));
    some("mean relative error", s.mre); some("mean squared error", s.mse);
    some("mean squared error of the estimate", s.estimate_mse);
    some("bits per user and period", s.bits_per_user_per_period); some("reports over budget", s.over_budget, grouped);
    for (const [name, panel] of panels) { panel.values.ofRun = s.mixed?.[name] ?? null; panel.rank(); panel.fit(); }
    vigil.finish(typeof s.seconds === "number" ? `Finished in ${figure(s.seconds)} s` : "Recorded: all there is");
  },
};

function take(frame) {
  TAKE[frame.type]?.(frame);
  schedule();
}

function theme() {
  const root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const show = () => {
    $("theme").textContent = dark() ? "Light colours" : "Dark colours";
    for (const panel of panels.values()) panel.redraw();
  };
  const stored = (() => { try { return localStorage.getItem("theme"); } catch { return null; } })();
  if (stored === "dark" || stored === "light") root.dataset.theme = stored;
  $("theme").addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* a page from disk may have no storage */ }
    show();
  });
  system.addEventListener("change", show);
  show();
}

/* Paper is light, and has every stream on it. */
function paper() {
  const root = document.documentElement;
  let before;
  const all = (near) => { for (const panel of panels.values()) { if (near) panel.approach(true); panel.chart.stale = panel.dirty = true; panel.render(performance.now() + TABLE_MS); } };
  window.addEventListener("beforeprint", () => { before = root.dataset.theme; root.dataset.theme = "light"; all(true); });
  window.addEventListener("afterprint", () => {
    if (before) root.dataset.theme = before; else delete root.dataset.theme;
    all(false);
  });
}

/* Estimates for a kind of question come from the server, by the page's own address: ?for=point. */
function reading() {
  $("for").value = new URLSearchParams(location.search).get("for") ?? "";
  $("for").addEventListener("change", () => { location.search = $("for").value ? `?for=${$("for").value}` : ""; });
}

function connect() {
  const link = new Link(`v1/feed${location.search}`, {
    take(text) { take(JSON.parse(text)); if (finished) link.close(); },
    state(name, more) { if (!finished) vigil.connection(name, more); },
  });
  vigil.link = link;
  window.addEventListener("online", () => link.again());
  document.addEventListener("visibilitychange", () => { if (!document.hidden) link.again(); });
  link.run();
}

theme();
reading();
paper();
if ($("frames")) for (const frame of JSON.parse($("frames").textContent)) take(frame);
else connect();
