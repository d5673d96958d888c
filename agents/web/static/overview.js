// SPDX-License-Identifier: Apache-2.0
"use strict";
/* Many streams on one page: a list that leads to each and finds some by name, and pictures only for those in the window
   or close to it. Needs words.js; app.js hands it the panels. */

const LISTED_STREAMS = 4;                                /* from so many streams on there is a list of them */
const CLOSE_BY = "600px";                                /* how far from the window a picture is kept */
const ALL_DRAWN = 8;                                     /* up to so many streams are all drawn, wherever they are */

class Overview {
  constructor(root) {
    this.root = root; this.list = root.querySelector("ul"); this.box = root.querySelector("input"); this.said = root.querySelector("span");
    this.panels = [];
    this.box.addEventListener("input", () => this.#find());
    this.watch = new IntersectionObserver((seen) => {
      for (const { target, isIntersecting } of seen) this.of.get(target)?.approach(isIntersecting);
    }, { rootMargin: CLOSE_BY });
  }

  /** The page has these panels now. */
  take(panels) {
    this.watch.disconnect();
    this.panels = panels; this.of = new Map(panels.map((panel) => [panel.root, panel]));
    this.root.hidden = panels.length < LISTED_STREAMS; this.box.value = "";
    panels.forEach((panel, place) => {
      panel.root.id = `stream-${place + 1}`;
      if (panels.length > ALL_DRAWN) this.watch.observe(panel.root);
    });
    this.links = panels.map((panel) => {
      const item = make("li"), link = make("a", panel.spec.name);
      link.href = `#${panel.root.id}`; item.append(link);
      return item;
    });
    this.list.replaceChildren(...(this.root.hidden ? [] : this.links));
    this.#find();
  }

  /** Mark the streams of which no release has come for too long. */
  mark(late) {
    this.panels.forEach((panel, place) => this.links[place].classList.toggle("behind", late.has(panel)));
  }

  #find() {
    const sought = this.box.value.trim().toLowerCase(), has = ({ spec }) => spec.name.toLowerCase().includes(sought);
    this.panels.forEach((panel, place) => { panel.root.hidden = this.links[place].hidden = !has(panel); });
    write(this.said, sought ? `${grouped(this.panels.filter(has).length)} of ${grouped(this.panels.length)} streams` : `${grouped(this.panels.length)} streams`);
  }
}
