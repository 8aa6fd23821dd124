// Measures of each head in this sentence, computed from the loaded maps by the rules of `model/measures/statistics.py`.
// Only rows with at least two unmasked keys count. A measure without such rows is NaN.

const NEAREST = 0.5; // maximum distance in tokens of a key on the diagonal
const PUNCTUATION = /^\p{P}+$/u;
const BOTH = ['encoder', 'cross'];

/** Cells whose weights a measure sums, by measure. `offset`: distance of the key from the diagonal, in tokens. */
const CELL_PREDICATES = {
  same: ({ offset }) => Math.abs(offset) <= NEAREST,
  previous: ({ offset }) => offset >= -1 - NEAREST && offset < -NEAREST,
  next: ({ offset }) => offset > NEAREST && offset <= 1 + NEAREST,
  first: ({ column }) => column === 0,
  last: ({ column, place }) => column === place.columns.length - 1,
  punctuation: ({ column, place }) => place.marks[column],
  special: ({ column, place }) => place.specials[column],
};

/** All measures with their units; `kinds`: kinds of attention in which the measure is meaningful. */
export const MEASURES = [
  { name: 'entropy', unit: 'bits' },
  { name: 'relative_entropy', unit: 'share' },
  { name: 'peak', unit: 'share' },
  { name: 'distance', unit: 'tokens' },
  { name: 'diagonality', unit: 'share' },
  { name: 'same', unit: 'share' },
  { name: 'previous', unit: 'share' },
  { name: 'next', unit: 'share', kinds: BOTH },
  { name: 'first', unit: 'share' },
  { name: 'last', unit: 'share', kinds: BOTH },
  { name: 'punctuation', unit: 'share' },
  { name: 'special', unit: 'share' },
];

export const measuresForKind = (kind) => MEASURES.filter(({ kinds }) => !kinds || kinds.includes(kind));

const kept = new WeakMap(); // translation → kind → [layer][head]

/** Measures of all heads of a kind, `[layer][head]`, by name. Cached. */
export function measuresOf(translation, kind) {
  const known = kept.get(translation) ?? kept.set(translation, {}).get(translation);
  known[kind] ??= measureAll(translation, kind);
  return known[kind];
}

function measureAll(translation, kind) {
  const place = mapGeometry(translation, kind);
  return Array.from({ length: translation.layers(kind) }, (_, layer) =>
    Array.from({ length: translation.heads(kind) }, (_, head) => measure(translation.map(kind, layer, head).weights, place, kind)),
  );
}

/** Properties of a map's rows and columns, independent of the head. */
function mapGeometry(translation, kind) {
  const columns = translation.columns(kind);
  const rows = translation.rows(kind).length;
  const slope = kind === 'cross' ? (columns.length - 1) / (rows - 1) : 1;
  return {
    columns,
    rows,
    line: (row) => (kind === 'cross' && rows === 1 ? (columns.length - 1) / 2 : row * slope),
    specials: columns.map(({ special }) => Boolean(special)),
    marks: columns.map(({ special, text, label }) => !special && PUNCTUATION.test((text ?? label).trim())),
  };
}

function measure(weights, place, kind) {
  const sums = Object.fromEntries(MEASURES.map(({ name }) => [name, { sum: 0, count: 0 }]));
  const add = (name, value) => {
    sums[name].sum += value;
    sums[name].count += 1;
  };
  for (let row = 0; row < place.rows; row++) addRow(weights, place, row, add);
  const names = measuresForKind(kind).map(({ name }) => name);
  return Object.fromEntries(names.map((name) => [name, sums[name].count ? sums[name].sum / sums[name].count : NaN]));
}

/** Adds one row to the measures. */
function addRow(weights, place, row, add) {
  const wide = place.columns.length;
  const cells = [];
  for (let column = 0; column < wide; column++) {
    const weight = weights[row * wide + column];
    if (weight === weight) cells.push({ weight, column, offset: column - place.line(row), place });
  }
  if (cells.length < 2) return;
  let [bits, peak, far, farthest] = [0, 0, 0, 0];
  for (const { weight, offset } of cells) {
    if (weight > 0) bits -= weight * Math.log2(weight);
    peak = Math.max(peak, weight);
    far += weight * Math.abs(offset);
    farthest = Math.max(farthest, Math.abs(offset));
  }
  add('entropy', bits);
  add('relative_entropy', bits / Math.log2(cells.length));
  add('peak', peak);
  add('distance', far);
  if (farthest > 0) add('diagonality', 1 - far / farthest);
  for (const [name, belongs] of Object.entries(CELL_PREDICATES)) {
    const own = cells.filter(belongs);
    if (own.length)
      add(
        name,
        own.reduce((all, { weight }) => all + weight, 0),
      );
  }
}

/** Scale of a measure: shares have a maximum of 1, others the largest value of the kind. */
export function scaleOf(measures, name) {
  const { unit } = MEASURES.find((each) => each.name === name);
  const values = measures.flat().map((head) => head[name]);
  const high = unit === 'share' ? 1 : Math.max(1e-9, ...values.filter((value) => value === value));
  return { unit, high, level: (value) => (value === value ? Math.min(1, Math.max(0, value / high)) : NaN) };
}
