// Interventions in the server's format: a list of objects. The page and the permalink store it as text.

import { transferable, parseInterventions, sentenceKey, formatInterventions } from '../core/interventions.js';
import { set, state } from '../core/state.js';
import { t } from '../core/i18n.js';

/** Actions for a click on a head, with their amounts. The last two need further input. */
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
const LONGEST_TEXT = 32; // maximum characters of another sentence on a chip
const MOST_NAMED = 3; // maximum interventions named while the model computes
const UNDO_LIMIT = 100; // undo steps

/** @typedef {{ text: string, sentence: string }} Step interventions as text, with their sentence */
/** @type {Step[]} */
let undoStack = [];
/** @type {Step[]} */
let redoStack = [];

/** @returns {any[]} */
export const interventions = () => parseInterventions(state.interventions);

const here = () => ({ text: state.interventions, sentence: sentenceKey(state.translation) });

/** The step's interventions that fit the current sentence. */
const fitting = ({ text, sentence }) => (sentence === sentenceKey(state.translation) ? text : transferable(state.translation, text));

/** Set the interventions as one undo step. */
export function setInterventions(list) {
  const text = formatInterventions(list);
  if (text === state.interventions) return;
  undoStack = [...undoStack, here()].slice(-UNDO_LIMIT);
  redoStack = [];
  set({ interventions: text });
}

/** Go to the nearest step that differs from the current state. */
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

const placeOf = (place) => (place === 'mean' || place === undefined ? null : place);
const headName = ({ layer, head }) => [placeOf(layer), placeOf(head)];

/** Whether an intervention concerns a single head. */
export const isHead = ({ layer, head }) => typeof layer === 'number' && typeof head === 'number';

/** The intervention on this head, or on all heads of an average. */
export function headIntervention(kind, place) {
  const [layer, head] = headName(place);
  return interventions().find(
    (each) => HEAD_ACTIONS.has(each.action) && each.kind === kind && placeOf(each.layer) === layer && placeOf(each.head) === head,
  );
}

/** Effect on a head: its own intervention or that of its layer or kind. */
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

/** Copy another head's map; applying it again removes it. */
export function copyHead(kind, { layer, head }, from) {
  const made = { action: 'copy', kind, layer, head, from_layer: from.layer, from_head: from.head };
  replaceIntervention(
    (each) => HEAD_ACTIONS.has(each.action) && each.kind === kind && each.layer === layer && each.head === head,
    toggled(made),
  );
}

/** Use the maps for another sentence in one head, or without `head` in the whole layer. */
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

/** Toggle an intervention. */
const toggled = (made) => (interventions().some((each) => JSON.stringify(each) === JSON.stringify(made)) ? null : made);

/** Switch off every head of a kind except one. */
export function allButOne(kind, { layer, head }, layers, heads) {
  const others = interventions().filter((each) => !(HEAD_ACTIONS.has(each.action) && each.kind === kind));
  const made = [];
  for (let each = 0; each < layers; each++) {
    if (each !== layer) made.push({ action: 'remove', kind, layer: each });
    else for (let one = 0; one < heads; one++) if (one !== head) made.push({ action: 'remove', kind, layer, head: one });
  }
  setInterventions([...others, ...made]);
}

/** Replace the intervention that `matches`; without a new one, remove it. */
export function replaceIntervention(matches, made = null) {
  const others = interventions().filter((each) => !matches(each));
  setInterventions(made ? [...others, made] : others);
}

/** Offset in code points, as the server counts them. */
export const characterOffset = (text, place) => [...text.slice(0, place)].length;

/** The heads of an intervention: "Cross L1·H4". */
function placeSays(made) {
  const [layer, head] = headName(made);
  const place =
    layer === null
      ? t(head === null ? 'whatif_all_heads' : 'whatif_head_everywhere', { head: (head ?? 0) + 1 })
      : t(head === null ? 'whatif_layer' : 'whatif_head', { layer: layer + 1, head: (head ?? 0) + 1 });
  return `${t(`kind_${made.kind}_short`)} ${place}`;
}

/** Short text of an intervention for its chip. */
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

/** Text of the active interventions: "without Cross L1·H4", or the chip texts; only the first few of a long list. */
export function changesSay(list, sentence) {
  const off = list.every((each) => each.action === 'remove');
  return t(off ? 'whatif_without' : 'whatif_with', { changes: namesOf(list, sentence) });
}

/** The interventions as the subject of a sentence: "Cross L1·H4 off". */
export function changesText(list, sentence) {
  const off = list.every((each) => each.action === 'remove');
  const changes = namesOf(list, sentence);
  return off ? t('change_off', { changes }) : changes;
}

function namesOf(list, sentence) {
  const named = list.slice(0, MOST_NAMED);
  const off = list.every((each) => each.action === 'remove');
  const says = named.map((each) => (off ? placeSays(each) : interventionText(each, sentence))).join(t('list_comma'));
  const more = list.length - named.length;
  return more ? t('whatif_and_more', { changes: says, count: more }) : says;
}

/** The effect on a head in words. */
export function effectText(made) {
  const from = made.action === 'copy' ? t('whatif_head', { layer: made.from_layer + 1, head: made.from_head + 1 }) : '';
  const text = made.text?.length > LONGEST_TEXT ? `${made.text.slice(0, LONGEST_TEXT)}…` : (made.text ?? '');
  return t(`whatif_did_${actionName(made)}`, { amount: made.amount ?? '', from, text });
}

function actionName({ action, amount }) {
  if (action === 'temperature') return amount > 1 ? 'flatter' : 'sharper';
  return action;
}
