// Controls for the three kinds of answers. Each has `element`, `value` (the entry) and `place`: "answer" for the answer column,
// "material" to replace the tables of the question.

import { make } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { hasCell } from './marking.js';
import { grid, labelElement, labelText } from './question-parts.js';

export const QUESTION_ID = 'quiz-question-text'; // id of the heading that labels the controls
const MAX_SHORT_LENGTH = 3; // options with fewer characters share a line
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/**
 * The control for a question. `value`: the earlier entry, or null.
 * @param {any} question @param {Record<string, string>} glosses @param {any} value @param {() => void} onChange @param {() => void} onEnter
 */
export function answerControl(question, glosses, value, onChange, onEnter) {
  return new CONTROLS[question.kind](question, glosses, value, onChange, onEnter);
}

class NumberFields {
  constructor(question, glosses, value, onChange, onEnter) {
    this.place = 'answer';
    this.inputs = question.labels.map((label, index) =>
      make('input', {
        class: 'number-field',
        'aria-label': labelText(label),
        inputmode: 'text',
        autocomplete: 'off',
        autocapitalize: 'off',
        spellcheck: 'false',
        placeholder: '?',
        value: value?.[index],
        oninput: onChange,
        onkeydown: (event) => event.key === 'Enter' && onEnter(),
      }),
    );
    const fields = this.inputs.map((input, index) => make('label', {}, labelElement(question.labels[index], glosses), input));
    this.element = make('div', { class: 'quiz-fields' }, ...fields);
  }

  get value() {
    return this.inputs.map(({ value }) => value);
  }
}

class Options {
  constructor(question, glosses, value, onChange) {
    this.place = 'answer';
    this.value = value;
    const choose = (option) => {
      this.value = option;
      onChange();
    };
    const options = question.options.map((option) => {
      const input = make('input', {
        type: 'radio',
        name: 'quiz-option',
        value: option,
        checked: option === value,
        onchange: () => choose(option),
      });
      return make('label', { class: 'quiz-option' }, input, labelElement(option, glosses));
    });
    const isShort = question.options.every((option) => labelText(option).length < MAX_SHORT_LENGTH);
    this.element = make(
      'div',
      { class: `quiz-options${isShort ? ' short' : ''}`, role: 'radiogroup', 'aria-labelledby': QUESTION_ID },
      ...options,
    );
  }
}

class CellGrid {
  constructor(question, glosses, value, onChange) {
    this.place = 'material';
    this.question = question;
    this.onChange = onChange;
    /** @type {number[][]} */
    this.value = value ?? [];
    this.current = '0,0';
    this.element = grid(question, glosses, (row, column) => this.button(row, column));
    this.element.addEventListener('keydown', (event) => this.onKey(event));
    this.draw();
  }

  button(row, column) {
    const names = { row: labelText(this.question.rows[row]), column: labelText(this.question.columns[column]) };
    return make('button', {
      type: 'button',
      'aria-label': t('quiz_cell', names),
      data: { cell: `${row},${column}` },
      onclick: () => this.toggle(row, column),
    });
  }

  toggle(row, column) {
    const isMarked = hasCell(this.value, row, column);
    const isCleared = (cell) => cell[0] === row && (this.question.one_per_row || cell[1] === column);
    this.value = this.value.filter((cell) => !isCleared(cell));
    if (!isMarked) this.value.push([row, column]);
    this.current = `${row},${column}`;
    this.draw();
    this.onChange();
  }

  /** Updates the cells. Only one is in the tab order; arrow keys reach the others. */
  draw() {
    for (const button of this.element.querySelectorAll('button')) {
      const [row, column] = button.dataset.cell.split(',').map(Number);
      button.setAttribute('aria-pressed', String(hasCell(this.value, row, column)));
      button.tabIndex = button.dataset.cell === this.current ? 0 : -1;
    }
  }

  onKey(event) {
    const step = STEPS[event.key];
    const cell = event.target.dataset.cell;
    if (!step || !cell) return;
    event.preventDefault();
    const [row, column] = cell.split(',').map((number, axis) => Number(number) + step[axis]);
    const next = /** @type {HTMLElement | null} */ (this.element.querySelector(`[data-cell="${row},${column}"]`));
    if (!next) return;
    this.current = next.dataset.cell;
    this.draw();
    next.focus();
  }
}

const CONTROLS = { numbers: NumberFields, choice: Options, cells: CellGrid };
