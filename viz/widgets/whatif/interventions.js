// Interventions in the server's format: a list of objects. The page state and the permalink store it as text.

import { keepTransferable, parseInterventions, getSentenceKey, formatInterventions } from '../core/interventions.js';
import { set, state } from '../core/state.js';
import { t } from '../core/i18n.js';

/** Actions of a click on a head, with their amounts. The last two need a source. */
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
const MAX_TEXT_LENGTH = 32; // characters of another sentence on a chip
const MAX_NAMED = 3; // maximum interventions named while the model computes
const MAX_IN_HEADLINE = 2; // maximum interventions named in the headline
const UNDO_LIMIT = 100; // undo steps

/** @typedef {{ text: string, sentence: string }} Step interventions as text, with their sentence */
/** @type {Step[]} */
let undoStack = [];
/** @type {Step[]} */
let redoStack = [];

/** @returns {any[]} */
export const interventions = () => parseInterventions(state.interventions);

const currentState = () => ({ text: state.interventions, sentence: getSentenceKey(state.translation) });

/** The interventions of a step that apply to the current sentence, as text. */
const fittingText = ({ text, sentence }) =>
  sentence === getSentenceKey(state.translation) ? text : keepTransferable(state.translation, text);

/** Set the interventions as one undo step. */
export function setInterventions(list) {
  const text = formatInterventions(list);
  if (text === state.interventions) return;
  undoStack = [...undoStack, currentState()].slice(-UNDO_LIMIT);
  redoStack = [];
  set({ interventions: text });
}

/** Go to the nearest step that differs from the current state. */
function step(from, to) {
  while (from.length) {
    const text = fittingText(from.pop());
    if (text === state.interventions) continue;
    to.push(currentState());
    set({ interventions: text });
    return;
  }
}

export const undo = () => step(undoStack, redoStack);
export const redo = () => step(redoStack, undoStack);

const hasStep = (steps) => steps.some((step) => fittingText(step) !== state.interventions);

export const canUndo = () => hasStep(undoStack);
export const canRedo = () => hasStep(redoStack);

const toIndex = (index) => (index === 'mean' || index === undefined ? null : index);
const headIndices = ({ layer, head }) => [toIndex(layer), toIndex(head)];

/** Whether an intervention is on a single head. */
export const isHead = ({ layer, head }) => typeof layer === 'number' && typeof head === 'number';

/** The intervention on this head, or on all heads of an average. */
export function headIntervention(kind, index) {
  const [layer, head] = headIndices(index);
  return interventions().find(
    (intervention) =>
      HEAD_ACTIONS.has(intervention.action) &&
      intervention.kind === kind &&
      toIndex(intervention.layer) === layer &&
      toIndex(intervention.head) === head,
  );
}

/** The intervention that affects a head: on the head, its layer or its kind. */
export function interventionAt(kind, { layer, head }) {
  const covers = (scope, index) => scope === undefined || scope === null || scope === index;
  return interventions().find(
    (intervention) =>
      HEAD_ACTIONS.has(intervention.action) &&
      intervention.kind === kind &&
      covers(intervention.layer, layer) &&
      covers(intervention.head, head),
  );
}

/** Apply an action to a head, layer or kind; applying it again removes it. */
export function toggleHead(kind, index, brush) {
  const { name, action = name, amount } = brush;
  const [layer, head] = headIndices(index);
  const oldIntervention = headIntervention(kind, index);
  const others = interventions().filter((item) => JSON.stringify(item) !== JSON.stringify(oldIntervention));
  if (oldIntervention && oldIntervention.action === action && oldIntervention.amount === amount) return setInterventions(others);
  const intervention = { action, kind, ...(layer === null ? {} : { layer }), ...(head === null ? {} : { head }) };
  return setInterventions([...others, amount === undefined ? intervention : { ...intervention, amount }]);
}

/** Copy another head's map; applying it again removes it. */
export function copyHead(kind, { layer, head }, from) {
  const intervention = { action: 'copy', kind, layer, head, from_layer: from.layer, from_head: from.head };
  replaceIntervention(
    (item) => HEAD_ACTIONS.has(item.action) && item.kind === kind && item.layer === layer && item.head === head,
    unlessSet(intervention),
  );
}

/** Use the maps of another sentence in one head, or in the whole layer without a head. */
export function borrowMap(kind, index, text, layers) {
  const [layer, head] = headIndices(index);
  const list = (layer === null ? [...Array(layers).keys()] : [layer]).map((layerIndex) => ({
    ...{ action: 'borrow', kind, layer: layerIndex, ...(head === null ? {} : { head }) },
    text,
  }));
  const isOnHead = (candidate) =>
    HEAD_ACTIONS.has(candidate.action) &&
    candidate.kind === kind &&
    (layer === null || candidate.layer === layer) &&
    toIndex(candidate.head) === head;
  const texts = list.map((entry) => JSON.stringify(entry));
  const existing = interventions().filter((item) => texts.includes(JSON.stringify(item)));
  setInterventions([
    ...interventions().filter((intervention) => !isOnHead(intervention)),
    ...(existing.length === list.length ? [] : list),
  ]);
}

/** The intervention, or null if it is already set. */
const unlessSet = (intervention) =>
  interventions().some((item) => JSON.stringify(item) === JSON.stringify(intervention)) ? null : intervention;

/** Switch off every head of a kind except one. */
export function removeAllButOne(kind, { layer, head }, layers, heads) {
  const others = interventions().filter((intervention) => !(HEAD_ACTIONS.has(intervention.action) && intervention.kind === kind));
  const list = [];
  for (let layerIndex = 0; layerIndex < layers; layerIndex++) {
    if (layerIndex !== layer) list.push({ action: 'remove', kind, layer: layerIndex });
    else
      for (let headIndex = 0; headIndex < heads; headIndex++)
        if (headIndex !== head) list.push({ action: 'remove', kind, layer, head: headIndex });
  }
  setInterventions([...others, ...list]);
}

/** Replace the intervention that `matches`; without a new one, remove it. */
export function replaceIntervention(matches, intervention = null) {
  const others = interventions().filter((item) => !matches(item));
  setInterventions(intervention ? [...others, intervention] : others);
}

/** Offset in code points, as the server counts them. */
export const characterOffset = (text, index) => [...text.slice(0, index)].length;

/** The heads of an intervention as text: "Cross L1·H4"; after another one of its kind "L3·H3". */
function headsText(intervention, sameKind = false) {
  const [layer, head] = headIndices(intervention);
  if (layer === null && head === null) return t(`whatif_all_${intervention.kind}`);
  const heads =
    layer === null
      ? t('whatif_head_everywhere', { head: (head ?? 0) + 1 })
      : t(head === null ? 'whatif_layer' : 'whatif_head', { layer: layer + 1, head: (head ?? 0) + 1 });
  return sameKind ? heads : `${t(`kind_${intervention.kind}_short`)} ${heads}`;
}

/** Short text of an intervention for its chip. */
export function interventionText(intervention, sentence) {
  if (HEAD_ACTIONS.has(intervention.action)) return t('whatif_chip', { what: headsText(intervention), how: describeEffect(intervention) });
  if (['mask', 'erase', 'swap'].includes(intervention.action)) {
    const word = [...sentence].slice(intervention.start, intervention.end).join('');
    return t(`whatif_did_${intervention.action}`, { word, text: intervention.text ?? '' });
  }
  if (intervention.action === 'drag') {
    const headText = `${t(`kind_${intervention.kind}_short`)} ${t('whatif_head', { layer: intervention.layer + 1, head: intervention.head + 1 })}`;
    return t('whatif_did_drag', {
      at: headText,
      row: intervention.row + 1,
      column: intervention.column + 1,
      amount: intervention.amount.toFixed(2),
    });
  }
  if (intervention.action === 'zero')
    return t(`whatif_did_${intervention.part}`, { side: t(`whatif_${intervention.side}`), layer: intervention.layer + 1 });
  return t(`whatif_did_${intervention.action}`, { side: t(`whatif_${intervention.side}`), amount: intervention.amount ?? 0 });
}

/** Text of the interventions: "without Cross L1·H4", or the chip texts; long lists are truncated. */
export function changesLabel(list, sentence) {
  const off = list.every((item) => item.action === 'remove');
  return t(off ? 'whatif_without' : 'whatif_with', { changes: headNames(list, sentence) });
}

/** The interventions as the subject of a headline: "Cross L1·H4, L3·H3 off", or their number if it would be long. */
export function changesText(list, sentence) {
  const off = list.every((item) => item.action === 'remove');
  const heads = off && list.every(isHead);
  const short = list.length <= MAX_IN_HEADLINE;
  const changes = short ? headNames(list, sentence) : t(heads ? 'change_heads' : 'change_several', { count: list.length });
  return off && (short || heads) ? t('change_off', { changes }) : changes;
}

function headNames(list, sentence) {
  const named = list.slice(0, MAX_NAMED);
  const off = list.every((entry) => entry.action === 'remove');
  const name = (item, index) => (off ? headsText(item, item.kind === named[index - 1]?.kind) : interventionText(item, sentence));
  const description = named.map(name).join(t('list_comma'));
  const restCount = list.length - named.length;
  return restCount ? t('whatif_and_more', { changes: description, count: restCount }) : description;
}

/** The effect on a head in words. */
export function describeEffect(intervention) {
  const from =
    intervention.action === 'copy' ? t('whatif_head', { layer: intervention.from_layer + 1, head: intervention.from_head + 1 }) : '';
  const text = intervention.text?.length > MAX_TEXT_LENGTH ? `${intervention.text.slice(0, MAX_TEXT_LENGTH)}…` : (intervention.text ?? '');
  return t(`whatif_did_${actionName(intervention)}`, { amount: intervention.amount ?? '', from, text });
}

function actionName({ action, amount }) {
  if (action === 'temperature') return amount > 1 ? 'flatter' : 'sharper';
  return action;
}
