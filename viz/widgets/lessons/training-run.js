// A training run on the server, or two side by side: begun, asked for its moments, stopped. It draws nothing.

import { errorText, faultText, t } from '../core/i18n.js';
import { decodeArray } from '../core/base64-arrays.js';

const POLL_MS = 250; // milliseconds between two questions
const QUEUED_POLL_MS = 1000; // the same in the queue: a whole class may stand in it
const ERROR_PHRASES = { failed: 'lesson_train_failed', no_process: 'lesson_train_no_process' };

/**
 * @typedef {{ written: string, chances: number[], cross: { shape: number[], numbers: Float32Array } }} Shown
 * @typedef {{ step: number, shown: Shown[] }} Moment
 * @typedef {{ beginning: any, losses: number[], moments: Moment[], ended: { why: string, says: string } | null }} Run
 */

export class TrainingRun {
  /** `asks`: the server's `begin`, `more` and `stop`; `changed` is called after each answer. */
  constructor(asks, changed) {
    this.asks = asks;
    this.changed = changed;
    this.turn = 0;
    this.name = ''; // the server's, of the run that goes
    this.begun = Promise.resolve(); // the last answer to `begin`
    this.clear([]);
  }

  /** State before a run: stored messages of untrained models. */
  clear(kept) {
    /** @type {Run[]} */
    this.runs = [];
    /** @type {'idle' | 'waiting' | 'running' | 'over'} a stored run is idle */
    this.phase = 'idle';
    this.before = 0;
    this.full = ''; // what the server says of a full queue, until there is a place in it
    this.error = '';
    for (const message of kept) this.receive(message);
    this.phase = 'idle';
  }

  get isRunning() {
    return this.phase === 'waiting' || this.phase === 'running';
  }

  /** `about`: the runs by their settings. */
  async begin(about) {
    const turn = ++this.turn;
    this.name = '';
    this.phase = 'waiting'; // the view stays until the first snapshot arrives
    this.full = this.error = '';
    this.changed();
    try {
      const run = await this.start(turn, about);
      if (turn !== this.turn) {
        if (run) this.leave(run); // stopped meanwhile
        return;
      }
      this.full = '';
      this.name = run;
      for (let seen = 0; ; ) {
        const { before, messages, over } = await this.asks.more({ run, seen });
        if (turn !== this.turn) return;
        seen += messages.length;
        this.before = before;
        for (const message of messages) this.receive(message);
        if (over) this.phase = 'over';
        this.changed();
        if (over) return;
        await new Promise((done) => setTimeout(done, before ? QUEUED_POLL_MS : POLL_MS));
        if (turn !== this.turn) return;
      }
    } catch (error) {
      if (turn !== this.turn) return;
      this.phase = 'over';
      this.error = faultText(error, 'error_unreachable');
      this.changed();
    }
  }

  /** Start a run after the previous start has finished, so that the server sees them in order. A full queue is waited for. */
  start(turn, about) {
    const wanted = () => turn === this.turn;
    const full = (answer) => {
      if (!wanted()) return;
      this.full = errorText(answer);
      this.changed();
    };
    const asked = this.begun.then(async () => (wanted() ? ((await this.asks.begin(about, wanted, full))?.run ?? '') : ''));
    this.begun = asked.catch(() => {});
    return asked;
  }

  /** Stop the run; its snapshots stay. A run without a name yet is stopped when it gets one. */
  stop() {
    if (!this.isRunning) return;
    this.turn++;
    this.phase = this.runs.length ? 'over' : 'idle';
    if (this.name) this.leave(this.name);
    this.name = '';
    this.changed();
  }

  leave(run) {
    this.asks.stop({ run }).catch(() => {}); // the server also stops abandoned runs
  }

  receive(message) {
    if (message.what === 'begun') {
      this.phase = 'running';
      this.runs = message.runs.map((beginning) => ({ beginning, losses: [], moments: [], ended: null }));
    } else if (message.what === 'moment') {
      const run = this.runs[message.run];
      run.losses.push(...message.losses);
      run.moments.push({ step: message.step, shown: message.shown.map((each) => ({ ...each, cross: decodeArray(each.cross) })) });
    } else if (message.what === 'ended') {
      this.runs[message.run].ended = message;
    } else if (message.what in ERROR_PHRASES) {
      this.error = t(ERROR_PHRASES[message.what]);
    }
  }
}

/** Whether the output is a translation of the sentence. */
export const isRight = ({ accepted_targets: accepted }, sentence, written) => accepted[sentence].includes(written);

/** The phrase for the result; several translations can be equally correct. */
export function verdictOf(beginning, sentence, written) {
  const word = isRight(beginning, sentence, written) ? 'right' : 'wrong';
  return `lesson_train_${word}${beginning.accepted_targets[sentence].length > 1 ? '_of' : ''}`;
}
