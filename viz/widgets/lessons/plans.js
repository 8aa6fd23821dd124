// Lesson plans: steps of lessons with their minutes, opened as a deck of views for a class.

import { t } from '../core/i18n.js';

/** @type {Record<string, [string, number][]>} minutes of the plan → address of each step, and its minutes */
export const PLANS = {
  45: [
    ['walk.tokens', 3],
    ['walk.positions', 4],
    ['walk.norm', 4],
    ['walk.qkv', 6],
    ['walk.scale', 5],
    ['walk.softmax', 7],
    ['walk.mask', 6],
    ['walk.cross', 6],
    ['walk.next', 4],
  ],
  90: [
    ['walk.tokens', 3],
    ['positions.shuffle', 6],
    ['walk.positions', 4],
    ['walk.norm', 5],
    ['walk.qkv', 8],
    ['heads.spread', 6],
    ['walk.scale', 4],
    ['walk.softmax', 8],
    ['walk.mix', 4],
    ['walk.join', 5],
    ['walk.ff', 6],
    ['walk.mask', 6],
    ['masks.causal', 6],
    ['walk.cross', 6],
    ['walk.next', 4],
    ['train.watch', 9],
  ],
};

/** The plans whose steps are all on this page. */
export function availablePlans(lessons) {
  const steps = new Set(lessons.flatMap((lesson) => lesson.steps.map(({ name }) => `${lesson.name}.${name}`)));
  return Object.keys(PLANS).filter((plan) => PLANS[plan].every(([address]) => steps.has(address)));
}

/**
 * The views of a plan, with the answers hidden. Each step is shown for the sentence that the page has.
 * @param {any[]} lessons
 */
export function planViews(lessons, plan) {
  return PLANS[plan].map(([address, minutes]) => {
    const [lesson, step] = address.split('.');
    const { ask } = lessons.find(({ name }) => name === lesson).steps.find(({ name }) => name === step);
    const note = t(ask ? 'lesson_plan_note_asks' : 'lesson_plan_note', { minutes });
    const title = t(`lesson_${lesson}_${step}_title`);
    return { title, note, hash: `#tab=learn&lesson=${address}.0${ask ? '.asks' : ''}` };
  });
}
