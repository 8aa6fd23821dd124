// Fields that take a number or a sum. Each is checked on Enter or when the reader leaves it.

import { make } from '../core/dom.js';
import { formatNumber, isRight, readSum } from '../parts/sums.js';

/**
 * @typedef {object} FieldOptions
 * @property {number} [tolerance]
 * @property {number} [digits] decimals with which a right number is shown
 * @property {(value: number) => any} [mistake] the reason why a number is wrong, or null
 */

/** The fields of the part on display. */
export class Fields {
  /** `state`: the typed texts; `onChange(key, byEnter)`: a field was filled. */
  constructor(state, onChange) {
    this.state = state;
    this.onChange = onChange;
    this.clear();
  }

  clear() {
    /** @type {Map<string, { expected: number, tolerance?: number, mistake?: (value: number) => any }>} */
    this.fields = new Map();
  }

  /**
   * An input for a number. `label`: its name for screen readers.
   * @param {string} key @param {number} expected @param {string} label @param {FieldOptions} options
   */
  input(key, expected, label, options = {}) {
    this.fields.set(key, { expected, ...options });
    const text = this.state.text(key);
    const draft = this.state.draft(key);
    const status = draft === undefined ? this.status(key) : 'empty';
    const value = draft ?? (status === 'right' ? formatNumber(expected, options.digits ?? 2) : text.replace(/-/g, '−'));
    const input = make('input', {
      class: `number-field ${status}`,
      'aria-label': label,
      'aria-invalid': status === 'wrong' ? 'true' : null,
      'data-field': key,
      inputmode: 'text',
      autocomplete: 'off',
      autocapitalize: 'off',
      spellcheck: 'false',
      placeholder: '?',
      value,
      oninput: (event) => this.state.setDraft(key, event.target.value),
      onchange: () => this.commit(key, false),
      onkeydown: (event) => event.key === 'Enter' && this.commit(key, true),
    });
    return input;
  }

  /** Stores the typed text, if the reader typed in the field. */
  commit(key, byEnter) {
    const draft = this.state.draft(key);
    if (draft === undefined) return;
    this.state.setText(key, draft);
    this.onChange(key, byEnter);
  }

  /** "empty", "right" or "wrong". */
  status(key) {
    const { expected, tolerance } = this.fields.get(key);
    const text = this.state.text(key);
    if (!text.trim()) return 'empty';
    return isRight(readSum(text), expected, tolerance) ? 'right' : 'wrong';
  }

  has(key) {
    return this.fields.has(key);
  }

  isSolved(key) {
    return !this.has(key) || this.status(key) === 'right';
  }

  get areSolved() {
    return [...this.fields.keys()].every((key) => this.isSolved(key));
  }

  /** The first field that is not right. */
  get next() {
    return [...this.fields.keys()].find((key) => !this.isSolved(key));
  }

  /** The reason why a typed number is wrong: a phrase key with its values, or null. */
  reason(key) {
    const value = readSum(this.state.text(key));
    if (Number.isNaN(value)) return ['build_not_a_number'];
    return this.fields.get(key).mistake?.(value) ?? null;
  }

  solve() {
    for (const [key, { expected }] of this.fields) this.state.setText(key, formatNumber(expected, 4));
  }
}
