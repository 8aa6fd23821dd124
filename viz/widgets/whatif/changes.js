// Changes as the server takes them: a list of names with values. The page keeps the list as text, which the address holds, too.

import { set, state } from '../core/state.js';
import { t } from '../core/words.js';

/** What a click on a head may do: an action, and its amount where it has one. */
export const BRUSHES = [
  { name: 'look' },
  { name: 'remove' },
  { name: 'uniform' },
  { name: 'previous' },
  { name: 'next' },
  { name: 'same' },
  { name: 'flatter', action: 'temperature', amount: 4 },
  { name: 'sharper', action: 'temperature', amount: 0.25 },
];
const OF_HEADS = new Set(['remove', 'uniform', 'previous', 'next', 'same', 'temperature', 'scale']);
const PAST = 100; // steps that can be undone

/** @type {string[]} */
let before = [];
/** @type {string[]} */
let after = [];

/** @returns {any[]} */
export const changes = () => (state.interventions ? JSON.parse(state.interventions) : []);

const textOf = (list) => (list.length ? JSON.stringify(list) : '');

/** Another list of changes: a step that can be undone. */
export function change(list) {
  const text = textOf(list);
  if (text === state.interventions) return;
  before = [...before, state.interventions].slice(-PAST);
  after = [];
  set({ interventions: text });
}

export function undo() {
  if (!before.length) return;
  after.push(state.interventions);
  set({ interventions: before.pop() });
}

export function redo() {
  if (!after.length) return;
  before.push(state.interventions);
  set({ interventions: after.pop() });
}

export const canUndo = () => before.length > 0;
export const canRedo = () => after.length > 0;

/** Without the changes that belong to a sentence that is no longer there: its words, and weights at its places. */
export function keepForAnySentence() {
  const kept = changes().filter(({ action }) => !['mask', 'erase', 'swap', 'drag'].includes(action));
  set({ interventions: textOf(kept) });
}

// ---------------------------------------------------------------- heads

const placeOf = (place) => (place === 'mean' || place === undefined ? null : place);
const where = ({ layer, head }) => [placeOf(layer), placeOf(head)];

/** Whether a change is that of one head. */
export const isHead = ({ layer, head }) => typeof layer === 'number' && typeof head === 'number';

/** The change of just this head, or of all those that a mean stands for. */
export function changeOfHead(kind, place) {
  const [layer, head] = where(place);
  return changes().find(
    (each) => OF_HEADS.has(each.action) && each.kind === kind && placeOf(each.layer) === layer && placeOf(each.head) === head,
  );
}

/** What happens to one head, by itself or with its layer or kind. */
export function changeAt(kind, { layer, head }) {
  const covers = (given, place) => given === undefined || given === null || given === place;
  return changes().find((each) => OF_HEADS.has(each.action) && each.kind === kind && covers(each.layer, layer) && covers(each.head, head));
}

/** A brush on a head, its layer or its kind; the same again takes the change away. */
export function paintHead(kind, place, brush) {
  const { name, action = name, amount } = brush;
  const [layer, head] = where(place);
  const old = changeOfHead(kind, place);
  const others = changes().filter((each) => JSON.stringify(each) !== JSON.stringify(old));
  if (old && old.action === action && old.amount === amount) return change(others);
  const made = { action, kind, ...(layer === null ? {} : { layer }), ...(head === null ? {} : { head }) };
  return change([...others, amount === undefined ? made : { ...made, amount }]);
}

/** Every head of a kind off but this one. */
export function allButOne(kind, { layer, head }, layers, heads) {
  const others = changes().filter((each) => !(OF_HEADS.has(each.action) && each.kind === kind));
  const made = [];
  for (let each = 0; each < layers; each++) {
    if (each !== layer) made.push({ action: 'remove', kind, layer: each });
    else for (let one = 0; one < heads; one++) if (one !== head) made.push({ action: 'remove', kind, layer, head: one });
  }
  change([...others, ...made]);
}

// ---------------------------------------------------------------- everything else

/** Put a change in the place of the one that `matches`; none: only take that away. */
export function instead(matches, made = null) {
  const others = changes().filter((each) => !matches(each));
  change(made ? [...others, made] : others);
}

/** The server counts whole characters: a place in a text as it does. */
export const characters = (text, place) => [...text.slice(0, place)].length;

/** A change in a few words, for its chip. */
export function changeSays(made, sentence) {
  const said = { ...made, amount: made.amount ?? '' };
  if (OF_HEADS.has(made.action)) {
    const [layer, head] = where(made);
    const place =
      layer === null
        ? t(head === null ? 'whatif_all_heads' : 'whatif_head_everywhere', { head: (head ?? 0) + 1 })
        : t(head === null ? 'whatif_layer' : 'whatif_head', { layer: layer + 1, head: (head ?? 0) + 1 });
    return t('whatif_chip', { what: `${t(`kind_${made.kind}_short`)} ${place}`, how: t(`whatif_did_${actionName(made)}`, said) });
  }
  if (['mask', 'erase', 'swap'].includes(made.action)) {
    const word = [...sentence].slice(made.start, made.end).join('');
    return t(`whatif_did_${made.action}`, { word, text: made.text ?? '' });
  }
  if (made.action === 'drag') {
    const at = t('whatif_head', { layer: made.layer + 1, head: made.head + 1 });
    return t('whatif_did_drag', { at, row: made.row + 1, column: made.column + 1, amount: made.amount.toFixed(2) });
  }
  if (made.action === 'zero') return t(`whatif_did_${made.part}`, { side: t(`whatif_${made.side}`), layer: made.layer + 1 });
  if (made.action === 'copy' || made.action === 'borrow') {
    const at = `${t(`kind_${made.kind}_short`)} ${t('whatif_layer', { layer: made.layer + 1 })}`;
    return t(`whatif_did_${made.action}`, { at });
  }
  return t(`whatif_did_${made.action}`, { side: t(`whatif_${made.side}`), amount: made.amount ?? 0 });
}

function actionName({ action, amount }) {
  if (action === 'temperature') return amount > 1 ? 'flatter' : 'sharper';
  return action;
}
