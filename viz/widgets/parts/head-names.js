// Names of heads, texts about kinds of attention, and a sentence about a head's role.

import { make, fillElements } from '../core/dom.js';
import { twoDecimals } from '../core/map-view.js';
import { languageName, t } from '../core/i18n.js';

export function headName(layer, head) {
  if (layer === 'mean') {
    if (head === 'mean') return t('mean_of_all');
    if (head === 'max') return t('maximum_of_all');
    return t('mean_of_layers', { head: head + 1 });
  }
  if (head === 'mean') return t('mean_of_heads', { layer: layer + 1 });
  if (head === 'max') return t('maximum_of_heads', { layer: layer + 1 });
  return t('one_head', { layer: layer + 1, head: head + 1 });
}

/** The name of a head in the view Effect, in which several heads are summed. */
export function sumName({ layer, head }) {
  if (typeof layer === 'number') return head === 'mean' ? t('sum_of_heads', { layer: layer + 1 }) : headName(layer, head);
  return head === 'mean' ? t('sum_of_all') : t('sum_of_layers', { head: head + 1 });
}

/** "L3·H6"; averages and maxima have their full names. */
export function shortName({ layer, head }) {
  const single = typeof layer === 'number' && typeof head === 'number';
  return single ? t('whatif_head', { layer: layer + 1, head: head + 1 }) : headName(layer, head);
}

/** Phrase that explains the rows and columns of a kind. */
export function kindText(translation, kind) {
  const { source, target } = translation.model;
  if (!source || !target) return t(`figure_any_${kind}`); // unknown languages
  return t(`kind_${kind}_says`, { source: languageName(source), target: languageName(target) });
}

/** "Above all the previous token: 0.91 of each row", as text and elements. Maxima have no role, but a note. */
export function roleText(translation, kind, layer, head) {
  if (head === 'max') return [t('maximum_note')];
  // Roles of averages follow those of the last layer and of the last head.
  const row = layer === 'mean' ? translation.layers(kind) : layer;
  const [name, share, spread] = translation.roles[kind][row][head === 'mean' ? translation.heads(kind) : head];
  const hasNoRole = name === 'unclear' || name === 'spreads';
  const phrase = hasNoRole ? 'role_plain' : name === 'behind' ? 'role_says_late' : 'role_says';
  const words = fillElements(t(phrase, { share: twoDecimals(share) }), { name: make('b', {}, t(`role_${name}`)) });
  // On a short line the second sentence is hidden as a whole.
  return [make('span', {}, ...words), ' ', make('span', {}, t('role_spread', { spread: spread.toFixed(1) }))];
}
