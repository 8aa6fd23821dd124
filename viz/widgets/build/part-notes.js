// The task of a part and the line below its numbers: a hint, the reason why a number is wrong, or a button.

import { make, replace } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { maskReason } from './mistakes.js';
import { rowText, sidesAreRight } from './part-decoder.js';
import { withSubscripts } from './product-scheme.js';

/** Draw the task of a part, with its words in bold. */
export function drawTask({ data, state, operation, task }) {
  const [key, values] = state.part === 'cross' ? crossTask(data, state, operation) : [`build_task_${state.part}`, { word: data.word }];
  if (state.part === 'next') values.row = rowText(data.readWords[data.answer.written_row], '?');
  const parts = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, make('b', {}, value)]));
  withSubscripts(task, t(key), parts);
}

const writtenRow = ({ readWords, writtenWords, answer: { written_row: row } }) => rowText(readWords[row], writtenWords[row]);

function crossTask(data, state, operation) {
  if (operation.isByHand) return ['build_task_cross_weight', { word: data.words[operation.start[0]], row: writtenRow(data) }];
  if (state.view === 'sides') return [sidesAreRight(state.sides) ? 'build_task_cross_map' : 'build_task_cross', {}];
  const { source, read, write } = operation.drawing.row;
  return ['build_task_draw', { sentence: source.join(''), row: rowText(read, write) }];
}

/** Draw the line below the numbers. `field`: the field that was filled last. */
export function drawNote(page, field) {
  const { state, operation, note } = page;
  note.className = 'note';
  if (state.part === 'mask') drawMaskNote(page);
  else if (operation.drawing) drawDrawingNote(page);
  else if (state.part === 'cross' && !operation.isByHand)
    replace(note, t(sidesAreRight(state.sides) ? 'build_sides_right' : 'build_hint_cross'));
  else drawFieldNote(page, field);
}

function drawFieldNote({ state, operation, fields, note }, field) {
  const hint = t(`build_hint_${operation.isByHand ? 'cross_weight' : state.part}`, operation.values);
  const isFilled = field !== undefined && fields.has(field) && fields.status(field) !== 'empty';
  if (!isFilled) return withSubscripts(note, hint);
  const isRight = fields.status(field) === 'right';
  note.classList.add(isRight ? 'passes' : 'fails');
  if (isRight) return replace(note, t('build_right'));
  const reason = fields.reason(field);
  return withSubscripts(note, reason ? t(reason[0], reason[1]) : `${t('build_not_yet')} ${hint}`);
}

function drawMaskNote({ state, operation, note, sum, draw }) {
  const check = () => {
    state.maskChecked = true;
    draw();
  };
  replace(sum, outlined('build_check', check));
  const reason = state.maskChecked ? maskReason(operation.mistakes) : ['build_hint_mask'];
  note.classList.toggle('passes', operation.isDone);
  note.classList.toggle('fails', state.maskChecked && !operation.isDone);
  replace(note, t(reason[0], reason[1]));
}

function drawDrawingNote({ state, operation, note, sum, draw }) {
  const compare = () => {
    state.barsCompared = true;
    state.drewRow = true;
    draw();
  };
  const another = () => {
    state.drawnRow += 1;
    state.bars = [];
    state.barsCompared = false;
    draw();
  };
  const [own, equal] = operation.drawing.scores;
  replace(sum, state.barsCompared ? outlined('build_another', another) : outlined('build_compare', compare));
  replace(note, state.barsCompared ? t('build_overlap', { own, equal }) : t('build_hint_draw'));
}

const outlined = (key, onclick) => make('button', { type: 'button', class: 'outlined', onclick }, t(key));
