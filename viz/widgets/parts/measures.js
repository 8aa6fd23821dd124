// Measures of each head in this sentence. The server computes them (`model/measures/statistics.py`) and sends them with
// the translation (`measures_values` in `viz/service/payload.py`). Recordings have no measures: the browser parses
// their files without the server, and would need all rules in JavaScript, too. If a translation has no measures, the
// wall's menu and the table are hidden.

import { decodeWeights, MAX_LEVEL } from '../core/weight-decoding.js';

/** The names of a kind's measures, in the order of Python's table. */
export const measureNames = (translation, kind) => Object.keys(translation?.measures?.[kind] ?? {});

/** @type {WeakMap<object, Record<string, Record<string, number>[][]>>} translation → kind → `[layer][head]` */
const decoded = new WeakMap();

/** The measures of all heads of a kind, `[layer][head]`, each a record by name. Undefined measures are NaN. */
export function listMeasures(translation, kind) {
  const cached = decoded.get(translation) ?? decoded.set(translation, {}).get(translation);
  cached[kind] ??= decodeMeasures(translation, kind);
  return cached[kind];
}

function decodeMeasures(translation, kind) {
  const entries = Object.entries(translation.measures?.[kind] ?? {});
  const columns = entries.map(([name, values]) => [name, decodeValues(values)]);
  const heads = translation.heads(kind);
  const record = (index) => Object.fromEntries(columns.map(([name, values]) => [name, values[index]]));
  const layer = (row) => Array.from({ length: heads }, (_, head) => record(row * heads + head));
  return Array.from({ length: translation.layers(kind) }, (_, row) => layer(row));
}

/** The values of all heads; a space encodes NaN. */
function decodeValues([, scale, letters]) {
  const value = (number, index) => (letters[index] === ' ' ? NaN : (scale * number) / MAX_LEVEL);
  return Array.from(decodeWeights(letters), value);
}

/** Scale of a measure: shares range from 0 to 1, other measures up to the maximum of the kind. */
export function measureScale(translation, kind, name) {
  const [unit] = translation.measures[kind][name];
  const values = listMeasures(translation, kind)
    .flat()
    .map((head) => head[name]);
  const high = unit === 'share' ? 1 : Math.max(1e-9, ...values.filter((value) => value === value));
  return { unit, high, level: (value) => (value === value ? Math.min(1, Math.max(0, value / high)) : NaN) };
}
