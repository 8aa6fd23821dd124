// Keyboard shortcuts of an open lesson: previous and next step, word or head, play, and close.

import { isTextField } from '../core/dom.js';
import { state } from '../core/state.js';
import { resolveSelection } from './lesson-link.js';

/** `lessons`: the lesson player, with the current position and its actions. */
export function handleKey(event, lessons) {
  if (!lessons.isOpen() || event.ctrlKey || event.metaKey || event.altKey || isTextField(event.target) || event.defaultPrevented) return;
  if (event.target.closest?.('[role=tablist], pre')) return;
  const isButton = event.target.closest?.('button, a, [role=button], summary');
  if (event.key === ' ' && isButton) return; // space activates the focused button
  const action = {
    ArrowLeft: () => lessons.move(-1),
    ArrowRight: () => lessons.move(1),
    ...(lessons.view.training.isVisible ? trainingKeys(lessons.view.training) : sentenceKeys(lessons)),
    Escape: () => lessons.leave(),
  }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

const sentenceKeys = (lessons) => ({
  ' ': () => lessons.play(),
  j: () => nextToken(lessons, 1),
  k: () => nextToken(lessons, -1),
  '[': () => nextHead(lessons, -1),
  ']': () => nextHead(lessons, 1),
});

const trainingKeys = (training) => ({
  ' ': () => training.press(),
  j: () => training.nextSentence(1),
  k: () => training.nextSentence(-1),
  '[': () => training.nextHead(-1),
  ']': () => training.nextHead(1),
});

function nextToken(lessons, step) {
  const { kind, picks } = lessons.lesson.steps[lessons.stepIndex];
  const name = kind === 'encoder' ? 'token' : 'written';
  if (!picks.includes(name)) return;
  const count = state.translation.rows(kind).length;
  lessons.pick({ [name]: (resolveSelection(state.translation, lessons.choice.selection)[name] + step + count) % count });
}

function nextHead(lessons, step) {
  const { kind, picks } = lessons.lesson.steps[lessons.stepIndex];
  if (!picks.includes('head')) return;
  const count = state.translation.heads(kind);
  const { layer, head } = resolveSelection(state.translation, lessons.choice.selection)[kind];
  lessons.pick({ [kind]: { layer, head: (head + step + count) % count } });
}
