// Measures of each head in this sentence. Python computes them (`model/measures/statistics.py`) and sends them with the
// translation (`measures_values` in `viz/service/payload.py`). The view of a recording shows no measures: the browser
// reads a file of "Open your own" without the server, and would need every rule a second time in JavaScript. The wall's
// menu and the table are hidden if a translation comes without measures.

import { decodeWeights, LEVEL_OF_ONE } from '../core/weight-decoding.js';

/** The names of a kind's measures, in the order of Python's table. */
export const measureNames = (translation, kind) => Object.keys(translation?.measures?.[kind] ?? {});

/** @type {WeakMap<object, Record<string, Record<string, number>[][]>>} translation → kind → `[layer][head]` */
const decoded = new WeakMap();

/** The measures of all heads of a kind, `[layer][head]`, each a record by name. A measure that says nothing is NaN. */
export function measuresOf(translation, kind) {
  const known = decoded.get(translation) ?? decoded.set(translation, {}).get(translation);
  known[kind] ??= decodeMeasures(translation, kind);
  return known[kind];
}

function decodeMeasures(translation, kind) {
  const sent = Object.entries(translation.measures?.[kind] ?? {});
  const columns = sent.map(([name, values]) => [name, decodeValues(values)]);
  const heads = translation.heads(kind);
  const record = (place) => Object.fromEntries(columns.map(([name, values]) => [name, values[place]]));
  const layer = (row) => Array.from({ length: heads }, (_, head) => record(row * heads + head));
  return Array.from({ length: translation.layers(kind) }, (_, row) => layer(row));
}

/** The numbers of all heads: a blank stands for NaN. */
function decodeValues([, scale, letters]) {
  const value = (number, place) => (letters[place] === ' ' ? NaN : (scale * number) / LEVEL_OF_ONE);
  return Array.from(decodeWeights(letters), value);
}

/** How a measure's numbers are shown: shares as they are, others against the greatest of the kind. */
export function scaleOf(translation, kind, name) {
  const [unit] = translation.measures[kind][name];
  const values = measuresOf(translation, kind)
    .flat()
    .map((head) => head[name]);
  const high = unit === 'share' ? 1 : Math.max(1e-9, ...values.filter((value) => value === value));
  return { unit, high, level: (value) => (value === value ? Math.min(1, Math.max(0, value / high)) : NaN) };
}
