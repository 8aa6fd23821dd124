// Requests the back-translation after the translation is shown, so that it adds no latency.

import { callWithRetry } from '../core/boot.js';

const DELAY_MS = 400; // milliseconds after a translation, so that requests while typing have priority
const LIVE_DELAY_MS = 2000; // milliseconds after a greedy translation during typing, which the full one replaces

/** @typedef {import('../core/translation.js').Translation} Translation */

export class BackTranslation {
  /**
   * `onReliability(translation)` is called when the reliability of `translation` has changed.
   * @param {import('../core/server.js').Server} server
   * @param {(translation: Translation) => void} onReliability
   */
  constructor(server, onReliability) {
    this.server = server;
    this.onReliability = onReliability;
    /** @type {Translation | null} */
    this.latest = null;
    /** @type {Timer | undefined} */
    this.timer = undefined;
  }

  /**
   * Request the back-translation of the latest translation, if a reverse model is available.
   * @param {Translation} translation
   */
  follow(translation) {
    clearTimeout(this.timer);
    this.latest = translation;
    if (!this.server?.read_back || !translation.way_back || translation.reliability?.back) return;
    translation.isReadingBack = true;
    this.onReliability(translation);
    const isGreedy = translation.live && translation.request.options.beam_size === 1;
    this.timer = setTimeout(() => this.requestBackTranslation(translation), isGreedy ? LIVE_DELAY_MS : DELAY_MS);
  }

  /** @param {Translation} translation */
  async requestBackTranslation(translation) {
    try {
      const isLatest = () => this.latest === translation;
      const answer = await callWithRetry(this.server.read_back, { request: translation.requestValues() }, isLatest);
      if (answer?.reliability) translation.reliability = answer.reliability;
    } catch {
      // On failure keep the grade; show no error.
    }
    translation.isReadingBack = false;
    this.onReliability(translation);
  }
}
