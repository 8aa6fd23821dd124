// One section of the tab: its name, a line about it, and what it shows.

import { make } from '../core/dom.js';

/** The elements; what the section is called and says is written when it is drawn. */
export function section(name, ...inside) {
  const title = make('h2', {});
  const says = make('p', { class: 'says' });
  return { element: make('section', { class: name }, title, says, ...inside), title, says };
}
