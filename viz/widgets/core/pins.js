// Keeps pins and the chosen word on the same words when the sentence changes.

import { axes } from './map-view.js';

/** Index in `after` of the item `before[index]`: in the common prefix or suffix, else by its name if that is unique. Null: none. */
export function remapIndex(index, before, after) {
  if (index === null || index >= before.length) return null;
  const shortest = Math.min(before.length, after.length);
  let start = 0;
  while (start < shortest && before[start] === after[start]) start++;
  if (index < start) return index;
  let end = 0;
  while (end < shortest - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  if (index >= before.length - end) return index + after.length - before.length;
  const name = before[index];
  const isUnique = (list) => list.indexOf(name) === list.lastIndexOf(name);
  return after.includes(name) && isUnique(before) && isUnique(after) ? after.indexOf(name) : null;
}

/** The pinned row and column for another translation; null if a word is missing. */
export function remapPins(before, after, selection) {
  const getAxes = (translation) => axes(translation, selection.kind, selection);
  const [oldAxes, newAxes] = [getAxes(before), getAxes(after)];
  const labels = (items) => items.map(({ label }) => label);
  return {
    row: remapIndex(selection.row, labels(oldAxes.rows), labels(newAxes.rows)),
    column: remapIndex(selection.column, labels(oldAxes.columns), labels(newAxes.columns)),
  };
}

/** The chosen word and its rival for another translation; null if the word is missing. */
export function remapWord(before, after, { word, rival }) {
  const labels = ({ target }) => target.map(({ label }) => label);
  const remap = (index) => remapIndex(index, labels(before), labels(after));
  const rivalPlace = remap(rival?.place ?? null);
  return { word: remap(word), rival: rivalPlace === null ? null : { ...rival, place: rivalPlace } };
}
