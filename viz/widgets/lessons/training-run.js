// State of one or two training runs on the server: starts, polls and stops them.

import { errorText, faultText, t } from '../core/i18n.js';
import { decodeArray } from '../core/base64-arrays.js';

const POLL_MS = 250; // milliseconds between two polls of a run
const QUEUED_POLL_MS = 1000; // milliseconds between two polls in the queue; longer, because a whole class may wait
const ERROR_PHRASES = { failed: 'lesson_train_failed', no_process: 'lesson_train_no_process' };

/**
 * @typedef {{ written: string, chances: number[], cross: { shape: number[], numbers: Float32Array } }} SentenceResult
 * @typedef {{ step: number, shown: SentenceResult[] }} Snapshot
 * @typedef {{ beginning: any, losses: number[], snapshots: Snapshot[], ended: { why: string, says: string } | null }} Run
 */

export class TrainingRun {
  /** `calls`: the server calls `begin`, `more` and `stop`; `onChange()` is called after each reply. */
  constructor(calls, onChange) {
    this.calls = calls;
    this.onChange = onChange;
    this.generation = 0; // incremented to discard responses of older requests
    this.name = ''; // the server's name of the current run
    this.beginning = Promise.resolve(); // settles with the last call of `begin`
    this.clear([]);
  }

  /** Reset to the state before a run: `messages` contains the snapshots of the untrained models. */
  clear(messages) {
    /** @type {Run[]} */
    this.runs = [];
    /** @type {'idle' | 'waiting' | 'running' | 'over'} */
    this.phase = 'idle';
    this.before = 0;
    this.full = ''; // the server's message while the queue is full
    this.error = '';
    for (const message of messages) this.receive(message);
    this.phase = 'idle';
  }

  get isRunning() {
    return this.phase === 'waiting' || this.phase === 'running';
  }

  /** Start runs and poll them until they end. `settings`: those of the runs. */
  async start(settings) {
    const generation = ++this.generation;
    this.name = '';
    this.phase = 'waiting'; // the view stays until the first snapshot arrives
    this.full = this.error = '';
    this.onChange();
    try {
      const run = await this.requestRun(generation, settings);
      if (generation !== this.generation) {
        if (run) this.stopOnServer(run); // the visitor stopped the run while it started
        return;
      }
      this.full = '';
      this.name = run;
      for (let seen = 0; ; ) {
        const { before, messages, over } = await this.calls.more({ run, seen });
        if (generation !== this.generation) return;
        seen += messages.length;
        this.before = before;
        for (const message of messages) this.receive(message);
        if (over) this.phase = 'over';
        this.onChange();
        if (over) return;
        await new Promise((resolve) => setTimeout(resolve, before ? QUEUED_POLL_MS : POLL_MS));
        if (generation !== this.generation) return;
      }
    } catch (error) {
      if (generation !== this.generation) return;
      this.phase = 'over';
      this.error = faultText(error, 'error_unreachable');
      this.onChange();
    }
  }

  /** Start a run after the previous start has settled, so that they arrive in order. Retries while the queue is full. */
  requestRun(generation, settings) {
    const isCurrent = () => generation === this.generation;
    const onFull = (answer) => {
      if (!isCurrent()) return;
      this.full = errorText(answer);
      this.onChange();
    };
    const started = this.beginning.then(async () =>
      isCurrent() ? ((await this.calls.begin(settings, isCurrent, onFull))?.run ?? '') : '',
    );
    this.beginning = started.catch(() => {});
    return started;
  }

  /** Stop the run and keep its snapshots. `begin` stops a run that has no name yet. */
  stop() {
    if (!this.isRunning) return;
    this.generation++;
    this.phase = this.runs.length ? 'over' : 'idle';
    if (this.name) this.stopOnServer(this.name);
    this.name = '';
    this.onChange();
  }

  stopOnServer(run) {
    this.calls.stop({ run }).catch(() => {}); // the server also stops abandoned runs
  }

  receive(message) {
    if (message.what === 'begun') {
      this.phase = 'running';
      this.runs = message.runs.map((beginning) => ({ beginning, losses: [], snapshots: [], ended: null }));
    } else if (message.what === 'moment') {
      const run = this.runs[message.run];
      run.losses.push(...message.losses);
      run.snapshots.push({
        step: message.step,
        shown: message.shown.map((sentence) => ({ ...sentence, cross: decodeArray(sentence.cross) })),
      });
    } else if (message.what === 'ended') {
      this.runs[message.run].ended = message;
    } else if (message.what in ERROR_PHRASES) {
      this.error = t(ERROR_PHRASES[message.what]);
    }
  }
}

/** Whether the output is a translation of the sentence. */
export const isRight = ({ accepted_targets: accepted }, sentence, text) => accepted[sentence].includes(text);

/** Key of the phrase for the result; a sentence may have several correct translations. */
export function getVerdict(beginning, sentence, text) {
  const word = isRight(beginning, sentence, text) ? 'right' : 'wrong';
  return `lesson_train_${word}${beginning.accepted_targets[sentence].length > 1 ? '_of' : ''}`;
}
