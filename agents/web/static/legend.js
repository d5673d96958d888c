// SPDX-License-Identifier: Apache-2.0
"use strict";
/* The names of a stream: which have a line, which one is in focus, and the search among many. All text of a frame goes in
   by textContent: a category's name is never markup. Needs words.js and values.js; panel.js makes one for each stream. */

const FIRST_SHOWN = 6, MOST_SHOWN = 64, LISTED = 24, MATCHES = 100;

class Legend {
  /** `look(category)` hears what is pointed at, `toggle(category)` what is pressed, `focus(category)` what is chosen. */
  constructor(panel, find, { look, toggle, focus, rank }) {
    this.panel = panel; this.box = find(".legend"); this.more = find("[data-more]"); this.search = find(".search");
    this.choice = find(".focus select"); this.sought = "";
    this.listed = panel.spec.ordered ? 0 : LISTED;       /* in their order, the first say little */
    this.box.setAttribute("aria-label", panel.reading.all);
    const of = (event) => panel.periods.categories.get(event.target.closest("button")?.dataset.name);
    this.box.addEventListener("click", (event) => { if (of(event)) toggle(of(event)); });
    this.box.addEventListener("keydown", (event) => this.#step(event));
    for (const [type, on] of [["pointerover", true], ["pointerleave", false], ["focusin", true], ["focusout", false]]) {
      this.box.addEventListener(type, (event) => look((on && of(event)) || null));
    }
    this.choice.addEventListener("change", () => focus(panel.periods.categories.get(this.choice.value) ?? null));
    for (const button of panel.root.querySelectorAll("[data-show]")) {
      button.addEventListener("click", () => rank(Number(button.dataset.show)));
    }
    this.search.addEventListener("input", (event) => {
      this.sought = event.target.value.trim().toLowerCase(); this.fill(panel.order);
    });
    this.more.addEventListener("click", () => { this.listed = Infinity; this.fill(panel.order); });
  }

  /** Have a button for each name that is listed, in this order. */
  fill(all) {
    for (const c of all) c.listed ||= c.shown || c.name === "none";
    this.search.hidden = all.length <= LISTED;
    const found = this.sought ? all.filter((c) => c.name.toLowerCase().includes(this.sought)) : null;
    const names = found ? found.slice(0, MATCHES) : all.filter((c, place) => place < this.listed || c.listed);
    const rest = found && found.length > MATCHES ? `, the ${MATCHES} ${this.panel.spec.ranked ? "largest" : "first"} are listed` : "";
    write(this.search.lastElementChild, found ? `${grouped(found.length)} of ${grouped(all.length)} names${rest}` : "");
    const held = this.box.contains(document.activeElement) ? document.activeElement.dataset.name : null;
    this.box.replaceChildren(...names.map((c) => {
      const button = make("button");
      button.type = "button"; button.dataset.name = c.name; button.tabIndex = -1; button.title = c.name;
      button.setAttribute("aria-pressed", String(c.shown));
      button.append(swatch(c.slot), make("span", c.name));
      return button;
    }));
    const buttons = [...this.box.children];
    const current = buttons.find((node) => node.dataset.name === held) || buttons[0];
    if (current) current.tabIndex = 0;
    if (held !== null && current) current.focus();
    this.more.hidden = found !== null || names.length === all.length;
    this.more.textContent = `List all ${all.length} names`;
    this.more.parentNode.hidden = all.length <= FIRST_SHOWN;
    const most = this.panel.root.querySelector('[data-show="64"]');
    most.textContent = all.length > MOST_SHOWN ? `Show the ${MOST_SHOWN} largest` : "Show all";
  }

  /** Let the reader choose among the lines which one is in focus. */
  focusable(shown, focus) {
    const names = shown.map(({ name }) => name);
    if (names.join("\n") !== this.names) {
      this.names = names.join("\n");
      this.choice.replaceChildren(...names.map((name) => { const option = make("option", name); option.value = name; return option; }));
      this.choice.closest("label").hidden = names.length < 2;
    }
    if (focus && this.choice.value !== focus.name) this.choice.value = focus.name;
  }

  #step(event) {
    const buttons = [...this.box.children], at = buttons.indexOf(document.activeElement);
    const to = {
      ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1,
    }[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    const next = buttons[(to + buttons.length) % buttons.length];
    buttons[at].tabIndex = -1; next.tabIndex = 0; next.focus();
  }
}
