// SPDX-License-Identifier: Apache-2.0
"use strict";
/* The connection to the server: server-sent events, read by hand, because a browser's own reader neither hears the
   server's heartbeat nor notices that it has stopped. Silence ends a connection, and the next one resumes after the last
   id. Needs nothing but fetch. Not here: what a frame says, and what the page says of the connection. */

const SILENT_MS = 7000;                                  /* three heartbeats of the server, and a second */
const AGAIN_MS = [500, 1000, 2000, 5000];                /* between two tries, the last one again and again */
const SLOW_MS = 2000;                                    /* after which a first answer is slow */

class Link {
  /** `take(text)` hears each frame, `state(name, more)` what becomes of the connection: connecting, slow, open, lost, ended. */
  constructor(address, { take, state }) {
    this.address = address; this.take = take; this.state = state;
    this.silentMs = SILENT_MS;
    this.last = ""; this.tries = 0; this.offset = 0; this.closed = false;   /* milliseconds that the server's clock is ahead */
    this.heard = performance.now();
  }

  /** Connect, and stay connected until the server has nothing more to say. */
  async run() {
    this.state("connecting");
    while (!this.closed) {
      const ended = await this.#once().catch(() => false);
      if (this.closed) return;
      if (ended) { this.state("ended"); return; }
      const wait = AGAIN_MS[Math.min(this.tries, AGAIN_MS.length - 1)];
      this.tries += 1;
      this.state("lost", { tries: this.tries, wait });
      await new Promise((done) => { this.wake = done; setTimeout(done, wait); });
    }
  }

  /** Try at once, say because the browser is online again. */
  again() { this.wake?.(); }

  close() { this.closed = true; this.abort?.abort(); }

  /** One connection, to its end: whether that was the end of all. */
  async #once() {
    const abort = new AbortController();
    this.abort = abort; this.heard = performance.now();
    let looked = this.heard;
    const slow = setTimeout(() => { if (!this.tries) this.state("slow"); }, SLOW_MS);
    const guard = setInterval(() => {
      const now = performance.now(), slept = now - looked > 2000;       /* a tab in the background, or a machine that slept */
      looked = now;
      if (slept) this.heard = Math.max(this.heard, now - this.silentMs + 2500);
      if (now - this.heard > this.silentMs && this.opened) abort.abort();
    }, 500);
    this.opened = false;
    try {
      const headers = { Accept: "text/event-stream", ...(this.last && { "Last-Event-ID": this.last }) };
      const answer = await fetch(this.address, { headers, signal: abort.signal, cache: "no-store" });
      if (answer.status === 204) return true;
      if (!answer.ok) return false;
      const date = Date.parse(answer.headers.get("Date") ?? "");
      if (!Number.isNaN(date)) this.offset = date - Date.now();
      this.opened = true; this.tries = 0; this.heard = performance.now();
      clearTimeout(slow);
      this.state("open");
      await this.#read(answer.body.getReader());
      return false;
    } finally { clearTimeout(slow); clearInterval(guard); abort.abort(); }
  }

  async #read(reader) {
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done || this.closed) return;
      this.heard = performance.now();
      const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) this.#event(block);
    }
  }

  #event(block) {
    let data = null;
    for (const line of block.split("\n")) {
      if (line.startsWith("data: ")) data = data === null ? line.slice(6) : `${data}\n${line.slice(6)}`;
      else if (line.startsWith("id: ")) this.last = line.slice(4);
    }
    if (data !== null) this.take(data);
  }
}
