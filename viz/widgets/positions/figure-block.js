// A figure's frame on the page: its name, a line about it, the picture, its legend, and its numbers as a table.

import { make, replace } from '../core/dom.js';

/** The numbers are folded away, and drawn when they are unfolded. */
export class FigureBlock {
  constructor() {
    this.title = make('h3', {});
    this.says = make('p', { class: 'quiet' });
    this.head = make('div', { class: 'block-head' }, this.title);
    this.plot = make('div', { class: 'plot' });
    this.picture = make('div', { role: 'img' }, this.plot);
    this.legend = make('div', { class: 'legend' });
    this.summary = make('summary', {});
    this.inside = make('div', { class: 'numbers', tabindex: 0, role: 'region' });
    this.numbers = make('details', {}, this.summary, this.inside);
    this.numbers.addEventListener('toggle', () => this.fill());
    this.element = make('div', { class: 'block' }, this.head, this.says, this.picture, this.legend, this.numbers);
  }

  name(title, says) {
    this.title.textContent = title;
    this.says.textContent = says;
  }

  /** Rows of a table, made when it is opened. */
  table(summary, head, rows) {
    this.summary.textContent = summary;
    this.inside.setAttribute('aria-label', `${this.title.textContent}: ${summary}`);
    this.content = { head, rows };
    this.fill();
  }

  fill() {
    if (!this.numbers.open || !this.content) return;
    const { head, rows } = this.content;
    const line = ([first, ...rest]) => make('tr', {}, make('th', { scope: 'row' }, first), ...rest.map((cell) => make('td', {}, cell)));
    const names = make('tr', {}, ...head.map((name) => make('th', { scope: 'col' }, name)));
    const all = typeof rows === 'function' ? rows() : rows;
    replace(this.inside, make('table', {}, make('thead', {}, names), make('tbody', {}, ...all.map(line))));
  }
}

const TYPES = { f4: Float32Array, f8: Float64Array, i1: Int8Array, i2: Int16Array, i4: Int32Array, u1: Uint8Array };

/** Numbers as Plotly sends them: packed, or as plain lists. */
export function numbersOf(given) {
  if (!given.bdata) {
    const values = Float32Array.from(given.flat());
    return { values, rows: given.length, columns: given[0]?.length ?? 1 };
  }
  const bytes = Uint8Array.from(atob(given.bdata), (letter) => letter.charCodeAt(0));
  const values = new TYPES[given.dtype](bytes.buffer);
  const [rows, columns] = given.shape ? String(given.shape).split(',').map(Number) : [values.length, 1];
  return { values, rows, columns };
}
