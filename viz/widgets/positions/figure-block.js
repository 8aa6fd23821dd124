// A figure with its name, description, plot and legend, and a table of its numbers.

import { make, replace } from '../core/dom.js';

/** The element of a figure. Its table is collapsed at first and rendered when it is expanded. */
export class FigureBlock {
  constructor() {
    this.title = make('h3', {});
    this.description = make('p', { class: 'quiet' });
    this.head = make('div', { class: 'block-head' }, this.title);
    this.plot = make('div', { class: 'plot' });
    this.picture = make('div', { role: 'img' }, this.plot);
    this.legend = make('div', { class: 'legend' });
    this.summary = make('summary', {});
    this.tableArea = make('div', { class: 'numbers', tabindex: 0, role: 'region' });
    this.numbers = make('details', {}, this.summary, this.tableArea);
    this.numbers.addEventListener('toggle', () => this.fill());
    this.element = make('div', { class: 'block' }, this.head, this.description, this.picture, this.legend, this.numbers);
  }

  setTexts(title, caption) {
    this.title.textContent = title;
    this.description.textContent = caption;
  }

  /** Sets the contents of the table; `rows` may be a function, which is called when the table is rendered. */
  table(summary, head, rows) {
    this.summary.textContent = summary;
    this.tableArea.setAttribute('aria-label', `${this.title.textContent}: ${summary}`);
    this.content = { head, rows };
    this.fill();
  }

  fill() {
    if (!this.numbers.open || !this.content) return;
    const { head, rows } = this.content;
    const line = ([first, ...rest]) => make('tr', {}, make('th', { scope: 'row' }, first), ...rest.map((cell) => make('td', {}, cell)));
    const names = make('tr', {}, ...head.map((name) => make('th', { scope: 'col' }, name)));
    const tableRows = typeof rows === 'function' ? rows() : rows;
    replace(this.tableArea, make('table', {}, make('thead', {}, names), make('tbody', {}, ...tableRows.map(line))));
  }
}

const TYPES = { f4: Float32Array, f8: Float64Array, i1: Int8Array, i2: Int16Array, i4: Int32Array, u1: Uint8Array };

/** Decodes the data of a Plotly trace, which are typed arrays in base64 or plain lists. */
export function toNumbers(data) {
  if (!data.bdata) {
    const values = Float32Array.from(data.flat());
    return { values, rows: data.length, columns: data[0]?.length ?? 1 };
  }
  const bytes = Uint8Array.from(atob(data.bdata), (letter) => letter.charCodeAt(0));
  const values = new TYPES[data.dtype](bytes.buffer);
  const [rows, columns] = data.shape ? String(data.shape).split(',').map(Number) : [values.length, 1];
  return { values, rows, columns };
}
