// One translation at a time: each request has its number, and only messages of the last one count.

import { line } from '../core/line.js';
import { Watchdog } from '../core/watchdog.js';
import { set, state } from '../core/state.js';

export class Turns {
  /** `trigger` reaches the server; `lost()` is called when it has gone with a translation that it owes. */
  constructor(trigger, lost) {
    this.trigger = trigger;
    this.watchdog = new Watchdog(lost);
    this.number = 0;
    this.live = false; // whether the last request came from typing alone
  }

  ask(request) {
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
    this.number += 1;
    this.live = live;
    this.trigger('submit', { request: JSON.stringify({ turn: this.number, ...request }) });
  }

  /** Whether a message belongs to the last request; if so, the server answers, and more messages are to come. */
  hears(message) {
    // The first translation has no number; Gradio may set it once more while it still settles, after a quick visitor has asked.
    if ((message.turn ?? 0) !== this.number) return false;
    line.tell(this, message.what === 'waiting' ? message.before : null);
    if (state.busy) this.watchdog.wait();
    return true;
  }

  /** The translation is here. */
  end() {
    this.watchdog.end();
  }

  /** Whatever still arrives of what was asked is of no interest. */
  drop() {
    this.number += 1;
    line.tell(this, null);
    this.watchdog.end();
    set({ busy: false });
  }

  /** The same, and the server need not go on. */
  stop() {
    this.trigger('stop', { turn: this.number });
    this.drop();
  }
}
