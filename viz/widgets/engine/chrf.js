// chrF: the F-score of character n-grams of two texts (`model/measures/chrf.py`).

import { isSpace } from './characters.js';
import { tables } from './tables.js';

function countNgrams(characters, length) {
  const counts = new Map();
  for (let start = 0; start + length <= characters.length; start++) {
    const ngram = characters.slice(start, start + length).join('');
    counts.set(ngram, (counts.get(ngram) ?? 0) + 1);
  }
  return counts;
}

const total = (counts) => [...counts.values()].reduce((sum, count) => sum + count, 0);

/** The chrF of a text, from 0 to 100 for equal texts. */
export function chrf(text, reference) {
  const [own, other] = [text, reference].map((words) => Array.from(words).filter((character) => !isSpace(character)));
  const { length: longest, beta } = tables.chrf;
  let [precision, recall, orders] = [0, 0, 0];
  for (let length = 1; length <= longest; length++) {
    const [counts, others] = [countNgrams(own, length), countNgrams(other, length)];
    if (!counts.size || !others.size) continue;
    let shared = 0;
    for (const [ngram, count] of counts) shared += Math.min(count, others.get(ngram) ?? 0);
    precision += shared / total(counts);
    recall += shared / total(others);
    orders++;
  }
  if (!orders || !precision || !recall) return 0;
  [precision, recall] = [precision / orders, recall / orders];
  return (100 * (1 + beta ** 2) * precision * recall) / (beta ** 2 * precision + recall);
}
