// A look at a row, a column or a cell of one picture, and what it means in the others.

import { t } from '../core/words.js';
import { NOTHING } from '../headview/marks.js';

/** The items that stand for any of these tokens. */
const indices = (items, places) => [...items.keys()].filter((number) => items[number].places.some((place) => places.includes(place)));

/**
 * `look.from`: 0 or 1 for a side, 2 for the difference. Gives three marks, one for each, and what is to be said on a side
 * that has no partner. Until the partners are known, the other side stays as it is.
 */
export function across(look, { sides, partners, likeness, kind }) {
  const marks = Object.assign([NOTHING, NOTHING, NOTHING], { missing: ['', ''] });
  const tokens = [{}, {}]; // of each side, the tokens that are meant: {rows: places, columns: places}
  for (const [axis, place] of [
    ['rows', look.row],
    ['columns', look.column],
  ]) {
    if (place === null) continue;
    const item = look.from === 2 ? likeness?.units[axis][place] : sides[look.from].heads.view?.[axis][place];
    if (!item) continue;
    for (const side of [0, 1]) {
      if (look.from === 2) tokens[side][axis] = item.places[side];
      else if (look.from === side) tokens[side][axis] = item.places;
      else if (partners) tokens[side][axis] = partners.across(kind, axis, look.from, item.places);
      if (tokens[side][axis]?.length === 0) marks.missing[side] = missing(sides[side], kind, axis, item);
    }
  }
  for (const side of [0, 1]) {
    const { view } = sides[side].heads;
    const found = (axis) => (tokens[side][axis] && view ? indices(view[axis], tokens[side][axis]) : null);
    marks[side] = { rows: found('rows'), columns: found('columns') };
  }
  marks[2] = likeness ? inUnits(look, tokens, likeness) : NOTHING;
  return marks;
}

function inUnits(look, tokens, { units }) {
  if (look.from === 2) return { rows: look.row === null ? null : [look.row], columns: look.column === null ? null : [look.column] };
  const own = tokens[look.from];
  const found = (axis) =>
    own[axis] &&
    indices(
      units[axis].map(({ places }) => ({ places: places[look.from] })),
      own[axis],
    );
  return { rows: found('rows') ?? null, columns: found('columns') ?? null };
}

function missing({ translation }, kind, axis, item) {
  const read = kind === 'encoder' || (kind === 'cross' && axis === 'columns');
  const word = item.special ? 'beside_no_special' : read ? 'beside_not_read' : 'beside_not_written';
  return t(word, { model: translation.model.name, token: item.label });
}
