// One translation at a time: each that is asked for has its number, and only news of the last one counts.

import { line } from '../core/line.js';
import { Silence } from '../core/silence.js';
import { set, state } from '../core/state.js';

export class Turns {
  /** `trigger` reaches the server; `lost()` is called when it has gone with an answer that it owes. */
  constructor(trigger, lost) {
    this.trigger = trigger;
    this.silence = new Silence(lost);
    this.number = 0;
  }

  ask(request) {
    this.number += 1;
    set({ busy: true, unanswered: null });
    this.trigger('submit', { request: JSON.stringify({ turn: this.number, ...request }) });
    this.silence.wait();
  }

  /** Whether news belong to what was asked last; if so, the server is there, and we wait for more. */
  hears(news) {
    // The first answer has no number; Gradio may set it once more while it still settles, after a quick visitor has asked.
    if ((news.turn ?? 0) !== this.number) return false;
    line.tell(this, news.what === 'waiting' ? news.before : null);
    if (state.busy) this.silence.wait();
    return true;
  }

  /** The answer is here. */
  end() {
    this.silence.end();
  }

  /** Whatever still arrives of what was asked is of no interest. */
  drop() {
    this.number += 1;
    line.tell(this, null);
    this.silence.end();
    set({ busy: false });
  }

  /** The same, and the server need not go on. */
  stop() {
    this.trigger('stop', { turn: this.number });
    this.drop();
  }
}
