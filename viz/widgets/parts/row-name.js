// The name of a row. A decoder row reads one word and writes the next, so that its name has both: "saw → yesterday".

import { make } from '../core/dom.js';

const ARROW = ' → ';

/** The name as plain text, for titles, canvases and measuring. */
export const rowText = ({ read, label }) => (read ? `${read.label}${ARROW}${label}` : label);

/**
 * The name as an element. The word being written is emphasised; inside an element of class `late`, whose head aligns
 * the input word, the input word is.
 * @param {Pick<import('../core/map-view.js').Item, 'label' | 'special' | 'unknown' | 'read'>} item
 * @param {string | null} lang
 */
export function rowName(item, lang = null) {
  const word = (tag, { label, special = false, unknown = false }, role = '') =>
    make(tag, { lang, class: [role, special && 'special', unknown && 'unknown'].filter(Boolean).join(' ') }, label);
  if (!item.read) return word('span', item);
  return make('span', { class: 'row-name' }, word('bdi', item.read, 'read'), make('span', {}, ARROW), word('bdi', item, 'written'));
}
