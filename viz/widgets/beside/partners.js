// Two answers to one sentence: which tokens of one go together with which of the other. The server matched them.

/** The sentence that an axis is made of. Decoder columns begin with the start token, one before the sentence. */
const sentenceOf = (kind, axis) => (kind === 'encoder' || (kind === 'cross' && axis === 'columns') ? 'source' : 'target');
const shiftOf = (kind, axis) => (kind === 'decoder' && axis === 'columns' ? 1 : 0);

export class Partners {
  constructor({ source, target }) {
    this.sentences = { source, target };
    this.pairs = Object.fromEntries(Object.entries(this.sentences).map(([name, { pairs }]) => [name, bothWays(pairs)]));
  }

  /** Whether both sides read, or wrote, one and the same text. */
  same(kind, axis) {
    return this.sentences[sentenceOf(kind, axis)].same;
  }

  /** From places on an axis of one side, 0 or 1, to those on the other. */
  across(kind, axis, side, places) {
    const shift = shiftOf(kind, axis);
    const partners = this.pairs[sentenceOf(kind, axis)][side];
    const found = places.flatMap((place) => (place < shift ? [place] : (partners.get(place - shift) ?? []).map((each) => each + shift)));
    return [...new Set(found)].sort((one, other) => one - other);
  }

  /** What both maps of a kind can be said in: rows that both sides have, columns that either has, places on each side. */
  units(kind, answers) {
    const axis = (name, counts) => {
      const shift = shiftOf(kind, name);
      const items = this.sentences[sentenceOf(kind, name)].units.map(({ first, second, ...unit }, number) => {
        const places = [first, second].map((side, at) => side.map((place) => place + shift).filter((place) => place < counts[at]));
        return { ...unit, key: `u${number}`, places };
      });
      const start = { ...answers[0].start, full: answers[0].start.label, key: 'b', places: [[0], [0]] };
      return shift ? [start, ...items] : items;
    };
    const counts = (name) => answers.map((translation) => translation[name](kind).length);
    const rows = axis('rows', counts('rows'));
    return {
      rows: rows.filter(({ places }) => places.every((side) => side.length)),
      columns: axis('columns', counts('columns')).filter(({ places }) => places.some((side) => side.length)),
      alone: rows.filter(({ places }) => !places.every((side) => side.length)).length,
    };
  }
}

function bothWays(pairs) {
  const ways = [new Map(), new Map()];
  for (const pair of pairs) {
    for (const side of [0, 1]) ways[side].set(pair[side], [...(ways[side].get(pair[side]) ?? []), pair[1 - side]]);
  }
  return ways;
}
