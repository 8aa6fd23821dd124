// A translation translated back, asked for once the translation stands: it costs the reader no waiting.

import { callLatest } from '../core/boot.js';

const DELAY_MS = 400; // milliseconds after a translation: a reader who types on is answered first
const LIVE_DELAY_MS = 2000; // the same after one that came while the sentence was typed

export class BackTranslation {
  /** `judge(translation)`: what is known of a translation's reliability has grown. */
  constructor(server, judge) {
    this.server = server;
    this.judge = judge;
    this.latest = null;
    this.waits = 0;
  }

  /** Ask for this translation, and for none before it. A translation that nobody can translate back is left as it is. */
  follow(translation) {
    clearTimeout(this.waits);
    this.latest = translation;
    if (!this.server?.read_back || !translation.way_back || translation.reliability?.back) return;
    this.waits = setTimeout(() => this.ask(translation), translation.live ? LIVE_DELAY_MS : DELAY_MS);
  }

  async ask(translation) {
    try {
      const wanted = () => this.latest === translation;
      const told = await callLatest(this.server.read_back, { request: translation.requestValues() }, wanted);
      if (!told?.reliability || !wanted()) return;
      translation.reliability = told.reliability;
      this.judge(translation);
    } catch {
      // On failure keep the translation; show no error.
    }
  }
}
