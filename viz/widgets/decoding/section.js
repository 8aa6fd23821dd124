// A section of the tab: title, description and content.

import { make } from '../core/dom.js';

/** Builds a section. Title and description are set on render. */
export function section(name, ...children) {
  const title = make('h2', {});
  const caption = make('p', { class: 'says' });
  return { element: make('section', { class: name }, title, caption, ...children), title, caption };
}
