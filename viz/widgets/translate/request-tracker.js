// Numbers requests and accepts messages of the latest one only.

import { isBusy, Retry } from '../core/retry.js';
import { queueStatus } from '../core/queue-status.js';
import { waitForServer, Watchdog } from '../core/watchdog.js';
import { set, state } from '../core/state.js';
import { createTransport } from './transport.js';

export class RequestTracker {
  /** `hear(message)` gets what the server says; `lost()` is called when it has gone with a translation that it owes. */
  constructor(config, trigger, { hear, lost }) {
    this.hear = hear;
    this.way = createTransport(config, trigger, hear, (turn, broke) => this.onConnectionLost(turn, broke));
    this.watchdog = new Watchdog(lost);
    this.number = 0;
    this.live = false; // whether the last request came from typing alone
    this.broken = null; // the request whose line broke
    this.once = false; // whether it may be asked again at once
    this.patience = new Retry(); // with a busy server
    this.later = null; // the timer until it is asked again
  }

  startRequest(request) {
    this.asked = request;
    this.patience = new Retry();
    this.send(request, false);
    set({ busy: true, unanswered: null, written: null });
    this.watchdog.reset();
  }

  /** The sentence as it stands while it is typed: what is shown stays as it is until the answer is there. */
  startLiveRequest(request) {
    this.send({ ...request, live: true }, true);
    queueStatus.setPosition(this, null);
    this.watchdog.stop();
    set({ busy: false, unanswered: null, written: null });
  }

  send(request, live) {
    this.rests(null);
    this.number += 1;
    this.live = live;
    this.way.send({ turn: this.number, ...request });
  }

  /** Whether a message belongs to the last request; if so, the server answers, and more messages are to come. */
  accepts(message) {
    // The first translation has no number; Gradio may set it once more while it still settles, after a quick visitor has asked.
    if ((message.turn ?? 0) !== this.number) return false;
    queueStatus.setPosition(this, message.what === 'waiting' ? message.before : null);
    if (state.busy) this.watchdog.reset();
    return true;
  }

  /** Whether a busy server has refused, and the same is asked again by itself, until another request or a stop. */
  putsOff(message) {
    if (!isBusy(message)) return false;
    const again = () => {
      this.send(this.asked, false);
      this.watchdog.reset();
    };
    this.watchdog.stop();
    this.rests(this.patience.pause(message), again);
    return true;
  }

  /** Rest for so many milliseconds, then do something; for `null`, rest no more. */
  rests(pause, then = () => {}) {
    clearTimeout(this.later);
    this.later = pause === null ? null : setTimeout(then, pause);
    queueStatus.again(this, pause);
  }

  /** The request failed: the connection `broke` or the server is unreachable. Live requests are retried silently. */
  onConnectionLost(turn, broke) {
    if (turn !== this.number) return;
    if (this.live) this.hear({ what: 'error', field: 'text', word: 'cluster_gone', turn });
    else if (state.busy) {
      this.once = broke && this.broken !== this.asked;
      if (broke) this.broken = this.asked;
      this.watchdog.connectionLost();
    }
  }

  /** Whether to ask again: the server was gone and is back, or one line broke; and nothing else was asked for since. */
  shouldResend() {
    const { number, once } = this;
    this.once = false;
    return waitForServer(() => number === this.number, once);
  }

  /** The translation is here. */
  finish() {
    this.watchdog.stop();
  }

  /** Ignore further messages of the request. */
  abandon() {
    this.rests(null);
    this.number += 1;
    queueStatus.setPosition(this, null);
    this.watchdog.stop();
    set({ busy: false });
  }

  /** The same, and cancel it on the server. */
  stop() {
    this.way.stop(this.number);
    this.abandon();
  }
}
