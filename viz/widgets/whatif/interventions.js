// Changes as the server takes them: a list of names with values. The page keeps the list as text, which the address holds, too.

import { transferable, parseInterventions, sentenceKey, formatInterventions } from '../core/interventions.js';
import { set, state } from '../core/state.js';
import { t } from '../core/i18n.js';

/** What a click on a head may do: an action, and its amount where it has one. The last two ask for more. */
export const BRUSHES = [
  { name: 'look' },
  { name: 'remove' },
  { name: 'uniform' },
  { name: 'previous' },
  { name: 'next' },
  { name: 'same' },
  { name: 'flatter', action: 'temperature', amount: 4 },
  { name: 'sharper', action: 'temperature', amount: 0.25 },
  { name: 'copy' },
  { name: 'borrow' },
];
const HEAD_ACTIONS = new Set(['remove', 'uniform', 'previous', 'next', 'same', 'temperature', 'scale', 'copy', 'borrow']);
const LONGEST_TEXT = 32; // characters of another sentence on a chip
const MOST_NAMED = 3; // changes that are named while the model computes
const UNDO_LIMIT = 100; // steps that can be undone

/** @typedef {{ text: string, sentence: string }} Step changes as text, with the sentence that they were made for */
/** @type {Step[]} */
let undoStack = [];
/** @type {Step[]} */
let redoStack = [];

/** @returns {any[]} */
export const interventions = () => parseInterventions(state.interventions);

const here = () => ({ text: state.interventions, sentence: sentenceKey(state.translation) });

/** The step's interventions that fit the current sentence. */
const fitting = ({ text, sentence }) => (sentence === sentenceKey(state.translation) ? text : transferable(state.translation, text));

/** Another list of changes: a step that can be undone. */
export function setInterventions(list) {
  const text = formatInterventions(list);
  if (text === state.interventions) return;
  undoStack = [...undoStack, here()].slice(-UNDO_LIMIT);
  redoStack = [];
  set({ interventions: text });
}

/** To the last step that is another one than what is there. */
function step(from, to) {
  while (from.length) {
    const text = fitting(from.pop());
    if (text === state.interventions) continue;
    to.push(here());
    set({ interventions: text });
    return;
  }
}

export const undo = () => step(undoStack, redoStack);
export const redo = () => step(redoStack, undoStack);

const hasStep = (steps) => steps.some((each) => fitting(each) !== state.interventions);

export const canUndo = () => hasStep(undoStack);
export const canRedo = () => hasStep(redoStack);

// ---------------------------------------------------------------- heads

const placeOf = (place) => (place === 'mean' || place === undefined ? null : place);
const headName = ({ layer, head }) => [placeOf(layer), placeOf(head)];

/** Whether a change is that of one head. */
export const isHead = ({ layer, head }) => typeof layer === 'number' && typeof head === 'number';

/** The change of just this head, or of all those that a mean stands for. */
export function headIntervention(kind, place) {
  const [layer, head] = headName(place);
  return interventions().find(
    (each) => HEAD_ACTIONS.has(each.action) && each.kind === kind && placeOf(each.layer) === layer && placeOf(each.head) === head,
  );
}

/** What happens to one head, by itself or with its layer or kind. */
export function interventionAt(kind, { layer, head }) {
  const covers = (given, place) => given === undefined || given === null || given === place;
  return interventions().find(
    (each) => HEAD_ACTIONS.has(each.action) && each.kind === kind && covers(each.layer, layer) && covers(each.head, head),
  );
}

/** Apply an action to a head, layer or kind; applying it again removes it. */
export function toggleHead(kind, place, brush) {
  const { name, action = name, amount } = brush;
  const [layer, head] = headName(place);
  const old = headIntervention(kind, place);
  const others = interventions().filter((each) => JSON.stringify(each) !== JSON.stringify(old));
  if (old && old.action === action && old.amount === amount) return setInterventions(others);
  const made = { action, kind, ...(layer === null ? {} : { layer }), ...(head === null ? {} : { head }) };
  return setInterventions([...others, amount === undefined ? made : { ...made, amount }]);
}

/** A head looks where another one looks; the same again takes that away. */
export function copyHead(kind, { layer, head }, from) {
  const made = { action: 'copy', kind, layer, head, from_layer: from.layer, from_head: from.head };
  replaceIntervention(
    (each) => HEAD_ACTIONS.has(each.action) && each.kind === kind && each.layer === layer && each.head === head,
    toggled(made),
  );
}

/** Heads look where they look in another sentence: one, or (without a head) all of their layer. */
export function borrowMap(kind, place, text, layers) {
  const [layer, head] = headName(place);
  const made = (layer === null ? [...Array(layers).keys()] : [layer]).map((each) => ({
    ...{ action: 'borrow', kind, layer: each, ...(head === null ? {} : { head }) },
    text,
  }));
  const those = (each) =>
    HEAD_ACTIONS.has(each.action) && each.kind === kind && (layer === null || each.layer === layer) && placeOf(each.head) === head;
  const texts = made.map((each) => JSON.stringify(each));
  const there = interventions().filter((each) => texts.includes(JSON.stringify(each)));
  setInterventions([...interventions().filter((each) => !those(each)), ...(there.length === made.length ? [] : made)]);
}

/** A change, or none where just that is there already. */
const toggled = (made) => (interventions().some((each) => JSON.stringify(each) === JSON.stringify(made)) ? null : made);

/** Every head of a kind off but this one. */
export function allButOne(kind, { layer, head }, layers, heads) {
  const others = interventions().filter((each) => !(HEAD_ACTIONS.has(each.action) && each.kind === kind));
  const made = [];
  for (let each = 0; each < layers; each++) {
    if (each !== layer) made.push({ action: 'remove', kind, layer: each });
    else for (let one = 0; one < heads; one++) if (one !== head) made.push({ action: 'remove', kind, layer, head: one });
  }
  setInterventions([...others, ...made]);
}

// ---------------------------------------------------------------- everything else

/** Put a change in the place of the one that `matches`; none: only take that away. */
export function replaceIntervention(matches, made = null) {
  const others = interventions().filter((each) => !matches(each));
  setInterventions(made ? [...others, made] : others);
}

/** The server counts whole characters: a place in a text as it does. */
export const characterOffset = (text, place) => [...text.slice(0, place)].length;

/** The heads of a change: "Cross L1·H4". */
function placeSays(made) {
  const [layer, head] = headName(made);
  const place =
    layer === null
      ? t(head === null ? 'whatif_all_heads' : 'whatif_head_everywhere', { head: (head ?? 0) + 1 })
      : t(head === null ? 'whatif_layer' : 'whatif_head', { layer: layer + 1, head: (head ?? 0) + 1 });
  return `${t(`kind_${made.kind}_short`)} ${place}`;
}

/** A change in a few words, for its chip. */
export function interventionText(made, sentence) {
  if (HEAD_ACTIONS.has(made.action)) return t('whatif_chip', { what: placeSays(made), how: effectText(made) });
  if (['mask', 'erase', 'swap'].includes(made.action)) {
    const word = [...sentence].slice(made.start, made.end).join('');
    return t(`whatif_did_${made.action}`, { word, text: made.text ?? '' });
  }
  if (made.action === 'drag') {
    const at = `${t(`kind_${made.kind}_short`)} ${t('whatif_head', { layer: made.layer + 1, head: made.head + 1 })}`;
    return t('whatif_did_drag', { at, row: made.row + 1, column: made.column + 1, amount: made.amount.toFixed(2) });
  }
  if (made.action === 'zero') return t(`whatif_did_${made.part}`, { side: t(`whatif_${made.side}`), layer: made.layer + 1 });
  return t(`whatif_did_${made.action}`, { side: t(`whatif_${made.side}`), amount: made.amount ?? 0 });
}

/** Changes as the model is run with them: "without Cross L1·H4", or as their chips say; of many, the first ones. */
export function changesSay(list, sentence) {
  const named = list.slice(0, MOST_NAMED);
  const off = list.every((each) => each.action === 'remove');
  const says = named.map((each) => (off ? placeSays(each) : interventionText(each, sentence))).join(t('list_comma'));
  const more = list.length - named.length;
  const all = more ? t('whatif_and_more', { changes: says, count: more }) : says;
  return t(off ? 'whatif_without' : 'whatif_with', { changes: all });
}

/** What becomes of a head. */
export function effectText(made) {
  const from = made.action === 'copy' ? t('whatif_head', { layer: made.from_layer + 1, head: made.from_head + 1 }) : '';
  const text = made.text?.length > LONGEST_TEXT ? `${made.text.slice(0, LONGEST_TEXT)}…` : (made.text ?? '');
  return t(`whatif_did_${actionName(made)}`, { amount: made.amount ?? '', from, text });
}

function actionName({ action, amount }) {
  if (action === 'temperature') return amount > 1 ? 'flatter' : 'sharper';
  return action;
}
