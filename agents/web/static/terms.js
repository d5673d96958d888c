// SPDX-License-Identifier: Apache-2.0
"use strict";
/* Words that explain themselves: pointed at, focused or touched, each shows its sentence of the glossary. One note for
   the whole page, beside the word and inside the window. Needs words.js. */

const NOTE_ROOM = 10;                                    /* pixels between a note and the edges of the window */

/** A text; where the glossary has the word, as a button that explains it. */
function term(text, word = text) {
  if (!explained(word)) return document.createTextNode(text);
  const button = make("button", text, "term");
  button.type = "button"; button.dataset.word = word; button.setAttribute("aria-expanded", "false");
  return button;
}

/** Give what stands in the page's own markup its explanation: every element with `data-term`. */
function explainAll(root) {
  for (const node of root.querySelectorAll("[data-term]")) node.replaceChildren(term(node.textContent, node.dataset.term || node.textContent));
}

/** The note, and what opens and closes it. */
class Note {
  constructor() {
    this.node = make("p", "", "note");
    this.node.id = "note"; this.node.setAttribute("role", "tooltip"); this.node.hidden = true;
    this.of = null; this.kept = false;                   /* kept: opened by a click, so that it stays */
    document.body.append(this.node);
    const at = (event) => event.target.closest?.(".term");
    document.addEventListener("pointerover", (event) => {
      if (event.pointerType !== "touch") this.#point(at(event) || (event.target.closest?.(".note") ? this.of : null));
    });
    document.addEventListener("focusin", (event) => this.#show(at(event) || null));
    document.addEventListener("focusout", () => this.#show(null));
    document.addEventListener("click", (event) => {
      const word = at(event), again = word && this.of === word && this.kept;
      this.#show(again ? null : word || null); this.kept = Boolean(word) && !again;
    });
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") this.#show(null); });
    window.addEventListener("scroll", () => {
      if (this.of && (this.kept || this.of === document.activeElement || this.of.matches(":hover"))) this.#place();
      else this.#show(null);                             /* a scroll moved it from under the pointer */
    }, { passive: true, capture: true });
  }

  #point(word) { if (word || !(this.kept || this.of === document.activeElement)) this.#show(word); }

  #show(word) {
    if (word === this.of) return;
    this.of?.setAttribute("aria-expanded", "false"); this.of?.removeAttribute("aria-describedby");
    this.of = word; this.kept = false; this.node.hidden = !word;
    if (!word) return;
    write(this.node, explained(word.dataset.word));
    word.setAttribute("aria-expanded", "true"); word.setAttribute("aria-describedby", "note");
    this.#place();
  }

  #place() {
    const box = this.of.getBoundingClientRect(), { offsetWidth: w, offsetHeight: h } = this.node;
    const below = box.bottom + 6, top = below + h + NOTE_ROOM > window.innerHeight ? box.top - h - 6 : below;
    const width = document.documentElement.clientWidth;
    this.node.style.left = `${Math.max(NOTE_ROOM, Math.min(box.left, width - w - NOTE_ROOM))}px`;
    this.node.style.top = `${Math.max(NOTE_ROOM, top)}px`;
  }
}
