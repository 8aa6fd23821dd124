// The order of the forms and the answers. The order of the two forms is random for each browser, so that their
// difficulties cancel out over a class. Everything is stored with the progress of the lessons.

import { readQuiz, writeQuiz } from '../lessons/progress.js';

export const STAGES = ['before', 'after', 'again'];
const LAST_FORM = 'C';
const AGAIN_COUNT = 3; // questions of the last stage
export const WAIT_MS = 2 * 24 * 3600 * 1000; // milliseconds between the second form and the last stage

export class QuizProgress {
  /** @param {() => number} random @param {() => number} now */
  constructor(random = Math.random, now = Date.now) {
    this.random = random;
    this.now = now;
  }

  /** @returns {any} */
  get values() {
    const { forms = '', stages = {}, again = [], code = '' } = readQuiz() ?? {};
    return { forms, stages, again, code };
  }

  change(changes) {
    writeQuiz({ ...this.values, ...changes });
  }

  /** Chooses the order of the forms before the first question. */
  begin() {
    if (!this.values.forms) this.change({ forms: this.random() < 0.5 ? 'AB' : 'BA' });
  }

  form(stage) {
    return stage === 'again' ? LAST_FORM : this.values.forms[stage === 'before' ? 0 : 1];
  }

  /** The number of questions of a stage. */
  count(stage, all) {
    return stage === 'again' ? AGAIN_COUNT : all.length;
  }

  /** Names of the questions of a stage. Those of the last stage are chosen at random, once. */
  items(stage, all) {
    if (stage !== 'again') return all;
    const chosen = this.values.again.filter((name) => all.includes(name)); // an earlier version of the page may have had other questions
    if (chosen.length) return chosen;
    this.change({ again: pickSome(all, AGAIN_COUNT, this.random) });
    return this.values.again;
  }

  answers(stage) {
    return this.values.stages[stage]?.answers ?? {};
  }

  isDone(stage) {
    return Boolean(this.values.stages[stage]?.doneAt);
  }

  /** The time in milliseconds when a stage opens: 0 if it is open, null if another stage must be done first. */
  opensAt(stage) {
    if (stage === 'before') return 0;
    if (!this.isDone(stage === 'after' ? 'before' : 'after')) return null;
    if (stage === 'after') return 0;
    const time = this.values.stages.after.doneAt + WAIT_MS;
    return time <= this.now() ? 0 : time;
  }

  /** Records the first answer to a question; later ones are ignored. `answer`: `{ outcome, entry }`. */
  record(stage, item, answer, all) {
    const answers = this.answers(stage);
    if (item in answers) return;
    const changed = { ...answers, [item]: answer };
    const isLast = this.items(stage, all).every((name) => name in changed);
    const stored = { answers: changed, ...(isLast ? { doneAt: this.now() } : {}) };
    this.change({ stages: { ...this.values.stages, [stage]: stored } });
  }

  countRight(stage) {
    return Object.values(this.answers(stage)).filter(({ outcome }) => outcome === 'right').length;
  }

  setClass(code) {
    this.change({ code });
  }

  restart() {
    writeQuiz({});
  }
}

function pickSome(names, count, random) {
  const remaining = [...names];
  return Array.from({ length: count }, () => remaining.splice(Math.floor(random() * remaining.length), 1)[0]);
}
