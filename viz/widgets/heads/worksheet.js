// The worksheet that replaces the page when the See view is printed: the sentence, a map of the selected head of each
// kind, questions generated from the weights with space to calculate, and the answers on the last page.

import { make, tableHead } from '../core/dom.js';
import { selectInKind } from '../core/selection.js';
import { state } from '../core/state.js';
import { shownHead } from '../core/store.js';
import { cssColour, scaleColour } from '../core/theme.js';
import { KINDS } from '../core/translation.js';
import { isShiftedHead } from '../core/default-head.js';
import { view } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { getColumnClass } from '../parts/column-name.js';
import { headName } from '../parts/head-names.js';
import { rowName } from '../parts/row-name.js';
import { makeExercises, MAX_WORDS } from './worksheet-questions.js';

const DISPLAY_OPTIONS = { words: true, special: true, rescale: false };

/** Prints the worksheet instead of the page if `isVisible()` is true. */
export function printSheets(isVisible) {
  let sheet = null;
  addEventListener('beforeprint', () => {
    sheet?.remove();
    sheet = isVisible() ? buildWorksheet() : null;
    if (sheet) document.querySelector('.gradio-container').append(sheet);
  });
  addEventListener('afterprint', () => {
    sheet?.remove();
    sheet = null;
  });
}

function buildWorksheet() {
  const { translation, kind } = state;
  const selections = KINDS.filter((candidate) => translation.tensors[candidate]).map((candidate) =>
    candidate === kind ? { kind, ...shownHead(state) } : selectInKind(translation, state, candidate),
  );
  const maps = selections.map((selection) => view(translation, selection.kind, selection.layer, selection.head, DISPLAY_OPTIONS));
  const exercises = maps.map((map) => makeExercises(map, isShiftedHead(translation, map)));
  let number = 0;
  const numberedExercises = exercises.map((questions) => questions.map((question) => ({ ...question, number: ++number })));
  const name = make('p', { class: 'pupil' }, t('sheet_name'));
  const sentence = (text, lang) => make('p', { class: 'said', lang, dir: 'auto' }, text);
  const sentences = [sentence(translation.source_text, translation.model.source), sentence(translation.text, translation.model.target)];
  const sections = maps.map((map, index) => makeSection(map, numberedExercises[index]));
  const answers = numberedExercises.flat().map(({ number, answer }) => make('li', { value: number }, make('bdi', {}, answer)));
  const answerSection = make('section', { class: 'answers' }, make('h2', {}, t('sheet_answers')), make('ol', {}, ...answers));
  return make(
    'article',
    { class: 'headlight class-sheet' },
    name,
    ...sentences,
    make('p', {}, t('sheet_says')),
    ...sections,
    answerSection,
  );
}

function makeSection(map, questions) {
  const title = make('h2', {}, `${t(`kind_${map.kind}`)} · ${headName(map.layer, map.head)}`);
  const lines = questions.map(({ number, kind, values, needsSpace }) =>
    make('li', { value: number }, t(`sheet_${kind}`, values), make('i', {}), needsSpace ? make('div', { class: 'room' }) : null),
  );
  return make('section', {}, title, makeMapTable(map), make('ol', {}, ...lines));
}

function makeMapTable({ rows, columns, weights }) {
  const head = tableHead([
    '',
    ...columns.slice(0, MAX_WORDS).map(({ label }) => make('span', { class: getColumnClass(label) }, make('bdi', {}, label))),
  ]);
  const body = rows.slice(0, MAX_WORDS).map((query, row) => {
    const cells = columns.slice(0, MAX_WORDS).map((_, column) => {
      const weight = weights[row * columns.length + column];
      const colour = weight === weight ? `background:${cssColour(scaleColour(state.palette, weight, 'light'))}` : '';
      return make('td', { style: colour, class: weight === weight ? '' : 'never' });
    });
    return make('tr', {}, make('th', { scope: 'row' }, rowName(query)), ...cells);
  });
  return make('table', {}, head, make('tbody', {}, ...body));
}
