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
const MAX_NAMED = 3; // interventions named while the model computes
const MAX_IN_HEADLINE = 2; // interventions named in the headline
const MAX_UNDO_STEPS = 100;

/** @typedef {{ text: string, sentence: string }} Step interventions as text, with their sentence */
/** @type {Step[]} */
let undoStack = [];
/** @type {Step[]} */
let redoStack = [];

/** @returns {any[]} */
export const interventions = () => parseInterventions(state.interventions);

const currentStep = () => ({ text: state.interventions, sentence: getSentenceKey(state.translation) });

/** The interventions of a step that apply to the current sentence, as text. */
const applicableText = ({ text, sentence }) =>
  sentence === getSentenceKey(state.translation) ? text : keepTransferable(state.translation, text);

/** Set the interventions as one undo step. */
export function setInterventions(list) {
  const text = formatInterventions(list);
  if (text === state.interventions) return;
  undoStack = [...undoStack, currentStep()].slice(-MAX_UNDO_STEPS);
  redoStack = [];
  set({ interventions: text });
}

/**
 * Restores the last step of a stack that differs from the current interventions, which are pushed on the other stack.
 * @param {Step[]} stack @param {Step[]} otherStack
 */
function restoreStep(stack, otherStack) {
  while (stack.length) {
    const text = applicableText(stack.pop());
    if (text === state.interventions) continue;
    otherStack.push(currentStep());
    set({ interventions: text });
    return;
  }
}

export const undo = () => restoreStep(undoStack, redoStack);
export const redo = () => restoreStep(redoStack, undoStack);

const hasStep = (stack) => stack.some((step) => applicableText(step) !== state.interventions);

export const canUndo = () => hasStep(undoStack);
export const canRedo = () => hasStep(redoStack);

/** Layer or head index of an intervention or of a tile; null for all, which a mean stands for. */
const toIndex = (index) => (index === 'mean' || index === undefined ? null : index);
const headIndices = ({ layer, head }) => [toIndex(layer), toIndex(head)];

/** Whether an intervention is on a single head. */
export const isHead = ({ layer, head }) => typeof layer === 'number' && typeof head === 'number';

/** The intervention on exactly this tile: a head, or all heads of a mean. `tile`: {layer, head}, each an index or 'mean'. */
export function headIntervention(kind, tile) {
  const [layer, head] = headIndices(tile);
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

/** Applies an action to a head, layer or kind; applying it again removes it. */
export function toggleHead(kind, tile, brush) {
  const { name, action = name, amount } = brush;
  const [layer, head] = headIndices(tile);
  const oldIntervention = headIntervention(kind, tile);
  const others = interventions().filter((item) => JSON.stringify(item) !== JSON.stringify(oldIntervention));
  if (oldIntervention && oldIntervention.action === action && oldIntervention.amount === amount) return setInterventions(others);
  const intervention = { action, kind, ...(layer === null ? {} : { layer }), ...(head === null ? {} : { head }) };
  return setInterventions([...others, amount === undefined ? intervention : { ...intervention, amount }]);
}

/** Copies the map of another head; applying it again removes it. */
export function copyHead(kind, { layer, head }, sourceHead) {
  const intervention = { action: 'copy', kind, layer, head, from_layer: sourceHead.layer, from_head: sourceHead.head };
  replaceIntervention(
    (item) => HEAD_ACTIONS.has(item.action) && item.kind === kind && item.layer === layer && item.head === head,
    isSet(intervention) ? null : intervention,
  );
}

/** Uses the maps of another sentence in a head, layer or kind; applying it again removes it. `layerCount`: of the kind. */
export function borrowMap(kind, tile, text, layerCount) {
  const [layer, head] = headIndices(tile);
  const list = (layer === null ? [...Array(layerCount).keys()] : [layer]).map((layerIndex) => ({
    ...{ action: 'borrow', kind, layer: layerIndex, ...(head === null ? {} : { head }) },
    text,
  }));
  const isOnTile = (intervention) =>
    HEAD_ACTIONS.has(intervention.action) &&
    intervention.kind === kind &&
    (layer === null || intervention.layer === layer) &&
    toIndex(intervention.head) === head;
  const others = interventions().filter((intervention) => !isOnTile(intervention));
  setInterventions([...others, ...(list.every(isSet) ? [] : list)]);
}

const isSet = (intervention) => interventions().some((item) => JSON.stringify(item) === JSON.stringify(intervention));

/** Removes every head of a kind except one. `layerCount` and `headCount`: of the kind. */
export function removeAllButOne(kind, { layer, head }, layerCount, headCount) {
  const others = interventions().filter((intervention) => !(HEAD_ACTIONS.has(intervention.action) && intervention.kind === kind));
  const list = [];
  for (let layerIndex = 0; layerIndex < layerCount; layerIndex++) {
    if (layerIndex !== layer) list.push({ action: 'remove', kind, layer: layerIndex });
    else
      for (let headIndex = 0; headIndex < headCount; headIndex++)
        if (headIndex !== head) list.push({ action: 'remove', kind, layer, head: headIndex });
  }
  setInterventions([...others, ...list]);
}

/** Replaces the interventions that `matches` accepts by a new one, or removes them if there is none. */
export function replaceIntervention(matches, intervention = null) {
  const others = interventions().filter((item) => !matches(item));
  setInterventions(intervention ? [...others, intervention] : others);
}

/** Offset in code points, as the server counts them. */
export const characterOffset = (text, index) => [...text.slice(0, index)].length;

/** The heads of an intervention as text: "Cross L1·H4", or "L3·H3" without its kind. */
function headsText(intervention, withKind = true) {
  const [layer, head] = headIndices(intervention);
  if (layer === null && head === null) return t(`whatif_all_${intervention.kind}`);
  const heads =
    layer === null
      ? t('whatif_head_everywhere', { head: (head ?? 0) + 1 })
      : t(head === null ? 'whatif_layer' : 'whatif_head', { layer: layer + 1, head: (head ?? 0) + 1 });
  return !withKind ? heads : `${t(`kind_${intervention.kind}_short`)} ${heads}`;
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
  const onlyRemoves = list.every((item) => item.action === 'remove');
  return t(onlyRemoves ? 'whatif_without' : 'whatif_with', { changes: listText(list, sentence) });
}

/** The interventions as the subject of a headline: "Cross L1·H4, L3·H3 off", or their number if it would be long. */
export function changesText(list, sentence) {
  const onlyRemoves = list.every((item) => item.action === 'remove');
  const onlyHeads = onlyRemoves && list.every(isHead);
  const isShort = list.length <= MAX_IN_HEADLINE;
  const changes = isShort ? listText(list, sentence) : t(onlyHeads ? 'change_heads' : 'change_several', { count: list.length });
  return onlyRemoves && (isShort || onlyHeads) ? t('change_off', { changes }) : changes;
}

/** The first interventions, and the number of the others. The kind of removed heads is named only when it changes. */
function listText(list, sentence) {
  const named = list.slice(0, MAX_NAMED);
  const onlyRemoves = list.every((item) => item.action === 'remove');
  const text = (item, index) => (onlyRemoves ? headsText(item, item.kind !== named[index - 1]?.kind) : interventionText(item, sentence));
  const description = named.map(text).join(t('list_comma'));
  const restCount = list.length - named.length;
  return restCount ? t('whatif_and_more', { changes: description, count: restCount }) : description;
}

/** The effect on a head in words. */
export function describeEffect(intervention) {
  const sourceHead =
    intervention.action === 'copy' ? t('whatif_head', { layer: intervention.from_layer + 1, head: intervention.from_head + 1 }) : '';
  const text = intervention.text?.length > MAX_TEXT_LENGTH ? `${intervention.text.slice(0, MAX_TEXT_LENGTH)}…` : (intervention.text ?? '');
  return t(`whatif_did_${actionName(intervention)}`, { amount: intervention.amount ?? '', from: sourceHead, text });
}

function actionName({ action, amount }) {
  if (action === 'temperature') return amount > 1 ? 'flatter' : 'sharper';
  return action;
}
