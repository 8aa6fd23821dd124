// Positions of a sentence as it was read in the sentence as it was typed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { locateTypedPositions } from '../../viz/widgets/translate/typed-positions.js';

/** The words of `text`, as they are cut out of `typed`. */
function cut(text, typed) {
  const positions = locateTypedPositions(text, typed);
  if (!positions) return null;
  return [...text.matchAll(/\S+/g)].map(({ 0: word, index }) => typed.slice(positions.starts[index], positions.ends[index + word.length]));
}

test('words keep their places where pictures are left out', () => {
  const words = ['Der', 'Hund', 'schläft.'];
  const text = words.join(' ');
  for (const typed of [text, 'Der 🐶 Hund schläft.', '🐶🐶 Der Hund👍🏽schläft.', 'Der Hund 👩‍💻  schläft. 🌳', ' Der ❤️ Hund 🇩🇪 schläft.'])
    assert.deepEqual(cut(text, typed), words, typed);
  assert.deepEqual(cut('你好世界', '你🌍好世界🌍'), ['你🌍好世界']);
});

test('each UTF-16 unit of a character outside the basic plane has its place', () => {
  assert.deepEqual(locateTypedPositions('a𠮷b', '🐶a𠮷b'), { starts: [2, 3, 4, 5, 6], ends: [0, 3, 4, 5, 6] });
});

test('pictures that were read are not skipped', () => {
  assert.deepEqual(cut('Hund 🐶 !', 'Hund  🐶 🌳 !'), ['Hund', '🐶', '!']);
});

test('other texts have no positions', () => {
  for (const typed of ['', 'Der Hund', 'Der alte Hund schläft.', 'Der Hund schläft. Ja', 'der Hund schläft.'])
    assert.equal(locateTypedPositions('Der Hund schläft.', typed), null, typed);
});
