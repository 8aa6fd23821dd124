// Numbers requests and accepts messages of the latest one only.

import { isBusy, Patience } from '../core/away.js';
import { line } from '../core/line.js';
import { returned, Watchdog } from '../core/watchdog.js';
import { set, state } from '../core/state.js';
import { wayOf } from './asking.js';

export class Turns {
  /** `hear(message)` gets what the server says; `lost()` is called when it has gone with a translation that it owes. */
  constructor(config, trigger, { hear, lost }) {
    this.hear = hear;
    this.way = wayOf(config, trigger, hear, (turn, broke) => this.breaks(turn, broke));
    this.watchdog = new Watchdog(lost);
    this.number = 0;
    this.live = false; // whether the last request came from typing alone
    this.broken = null; // the request whose line broke
    this.once = false; // whether it may be asked again at once
    this.patience = new Patience(); // with a busy server
    this.later = null; // the timer until it is asked again
  }

  ask(request) {
    this.asked = request;
    this.patience = new Patience();
    this.send(request, false);
    set({ busy: true, unanswered: null, written: null });
    this.watchdog.wait();
  }

  /** The sentence as it stands while it is typed: what is shown stays as it is until the answer is there. */
  askLive(request) {
    this.send({ ...request, live: true }, true);
    line.tell(this, null);
    this.watchdog.end();
    set({ busy: false, unanswered: null, written: null });
  }

  send(request, live) {
    this.rests(null);
    this.number += 1;
    this.live = live;
    this.way.send({ turn: this.number, ...request });
  }

  /** Whether a message belongs to the last request; if so, the server answers, and more messages are to come. */
  hears(message) {
    // The first translation has no number; Gradio may set it once more while it still settles, after a quick visitor has asked.
    if ((message.turn ?? 0) !== this.number) return false;
    line.tell(this, message.what === 'waiting' ? message.before : null);
    if (state.busy) this.watchdog.wait();
    return true;
  }

  /** Whether a busy server has refused, and the same is asked again by itself, until another request or a stop. */
  putsOff(message) {
    if (!isBusy(message)) return false;
    const again = () => {
      this.send(this.asked, false);
      this.watchdog.wait();
    };
    this.watchdog.end();
    this.rests(this.patience.pause(message), again);
    return true;
  }

  /** Rest for so many milliseconds, then do something; for `null`, rest no more. */
  rests(pause, then = () => {}) {
    clearTimeout(this.later);
    this.later = pause === null ? null : setTimeout(then, pause);
    line.again(this, pause);
  }

  /** The request failed: the connection `broke` or the server is unreachable. Live requests are retried silently. */
  breaks(turn, broke) {
    if (turn !== this.number) return;
    if (this.live) this.hear({ what: 'error', field: 'text', word: 'cluster_gone', turn });
    else if (state.busy) {
      this.once = broke && this.broken !== this.asked;
      if (broke) this.broken = this.asked;
      this.watchdog.lose();
    }
  }

  /** Whether to ask again: the server was gone and is back, or one line broke; and nothing else was asked for since. */
  isBack() {
    const { number, once } = this;
    this.once = false;
    return returned(() => number === this.number, once);
  }

  /** The translation is here. */
  end() {
    this.watchdog.end();
  }

  /** Ignore further messages of the request. */
  drop() {
    this.rests(null);
    this.number += 1;
    line.tell(this, null);
    this.watchdog.end();
    set({ busy: false });
  }

  /** The same, and cancel it on the server. */
  stop() {
    this.way.stop(this.number);
    this.drop();
  }
}
