// Example interventions for a translation, one click each.

import { getAligningHead, defaultHead } from '../core/default-head.js';
import { t } from '../core/i18n.js';
import { characterOffset } from './interventions.js';

/** Named lists of interventions: {name, list}. `original`: the translation without interventions, to find its best head. */
export function listExamples(translation, original) {
  const best = getAligningHead(original) ?? defaultHead(original);
  const word = translation.source.find((token) => !token.special && token.end - token.start > 3);
  const { source_text: text } = translation;
  const examples = [
    best && {
      name: t('whatif_try_best', { head: t('whatif_head', { layer: best.layer + 1, head: best.head + 1 }) }),
      list: [{ action: 'remove', kind: 'cross', layer: best.layer, head: best.head }],
    },
    { name: t('whatif_try_cross'), list: [{ action: 'remove', kind: 'cross' }] },
    { name: t('whatif_try_order'), list: [{ action: 'no_positions', side: 'encoder' }] },
    { name: t('whatif_try_flat'), list: [{ action: 'temperature', kind: 'cross', amount: 4 }] },
    word && { name: t('whatif_try_word', { word: text.slice(word.start, word.end).trim() }), list: [maskWord(text, word)] },
  ];
  return examples.filter(Boolean);
}

function maskWord(text, { start, end }) {
  const word = text.slice(start, end);
  const first = characterOffset(text, start + word.length - word.trimStart().length);
  return { action: 'mask', start: first, end: first + [...word.trim()].length };
}
