// The calls of the page that the engine answers, in the format of the server (`viz/tabs/`).

import { answerAccount, answerAccountHeads, answerAccountKeys } from './account-calls.js';
import { ablationLoss, allHeads, allParts } from './ablation.js';
import { chrf } from './chrf.js';
import { mapEffects, measuredEffect, predictLosses, strongestEffects } from './effect-calls.js';
import { exportFile } from './export.js';
import { Fault } from './fault.js';
import { tokenValues } from './answer.js';
import { languageHint } from './language-hint.js';
import { logitDetails } from './logit-calls.js';
import { requestChanges } from './replay.js';
import { ownChoice } from './reranking.js';
import { explainRow } from './row.js';
import { searchValues } from './search-tree.js';
import { lessonTensors } from './tensors.js';
import { borrowedMaps } from './translator.js';
import { diffWords, writtenWords } from './word-diff.js';
import { nameRival } from './word-query.js';

/**
 * @typedef {import('./engine.js').Engine} Engine
 * @typedef {import('./translator.js').Control} Control
 */

const BATCH_MS = 150; // milliseconds of measurements in one call, so that a newer call never waits long
const MIN_PROBABILITY = 1e-45; // lower bound, so that the logarithm is finite
const MESSAGE_INTERVAL_MS = 60;

const round = (number, digits) => Math.round(number * 10 ** digits) / 10 ** digits;

/** Streams the messages of a translation. */
async function streamMessages(engine, values, control, send) {
  const { turn } = values;
  const { entry, request } = engine.checkMessage(values);
  let last = performance.now();
  const onToken = (tokens, text, isLast = false) => {
    if (values.live || (!isLast && performance.now() - last < MESSAGE_INTERVAL_MS)) return;
    last = performance.now();
    send({ what: 'progress', text, target: tokenValues(tokens), turn });
  };
  const translation = await engine.translate(entry, request, { ...control, onToken });
  if (!translation) return;
  const hint = languageHint(request.text, entry, Object.values(engine.models));
  send({ ...(await engine.answer(entry, translation)), hint, turn });
}

/** The reliability of an answer after reading back. */
async function readBack(engine, { request: values }, control) {
  const { entry, request } = engine.check(values, true);
  const translation = await engine.translate(entry, request, control);
  return translation && { reliability: await engine.readBack(entry, translation, control) };
}

/** Translates a request again with its interventions, and scores the original words with the changed model. */
async function changedTranslation(engine, { request: values, interventions }, control) {
  const { entry, request: plain } = engine.check({ ...values, interventions: null });
  const { request: changed } = engine.check({ ...values, interventions });
  const ranked = await engine.translate(entry, plain, control);
  const before = ranked && (await engine.translate(entry, ownChoice(plain), control));
  const after = before && (await engine.translate(entry, ownChoice(changed), control));
  const forcedRequest = { ...ownChoice(changed), target: before?.target.map(({ id }) => id), prefix: null };
  const forced = after && (await engine.translate(entry, forcedRequest, control));
  if (!forced) return null;
  return {
    answer: await engine.answer(entry, after),
    held: await engine.answer(entry, forced),
    before: round(before.logProbability, 6),
    after: round(forced.logProbability, 6),
    chrf: round(chrf(after.text, before.text), 2),
    words: compareWords(before, forced, after),
    own: isSameTarget(before, ranked) ? null : await engine.answer(entry, before),
  };
}

const isSameTarget = (one, other) => String(one.target.map(({ id }) => id)) === String(other.target.map(({ id }) => id));

/** Words of the original and of the changed translation, with the original's log probabilities under both models. */
export function compareWords(before, forced, after) {
  const [first, second] = [before, after].map(({ target, text }) => writtenWords(target, text));
  const logProbability = ({ target }, { positions }) =>
    round(
      positions.reduce((sum, position) => sum + Math.log(Math.max(target[position].probability, MIN_PROBABILITY)), 0),
      6,
    );
  const pairs = diffWords(
    first.map(({ text }) => text),
    second.map(({ text }) => text),
  );
  return pairs.map(([own, other]) => {
    const word = own === null ? null : first[own];
    const numbers = word && { places: word.positions, log_before: logProbability(before, word), log_after: logProbability(forced, word) };
    return { before: word?.text ?? null, after: other === null ? null : second[other].text, ...numbers };
  });
}

/** Losses without each part from index `first`, each without `others`, too, and the next index. */
async function measureBatch(engine, values, choose, control) {
  const { entry, request } = engine.check(values.request);
  const parts = choose(entry.config);
  const first = values.first ?? 0;
  if (!Number.isInteger(first) || first < 0 || first >= parts.length) {
    throw new Fault('first', 'not_whole', { name: 'first', low: 0, high: parts.length - 1, given: String(first) });
  }
  const translation = await engine.translate(entry, ownChoice(request), control);
  if (!translation) return null;
  const model = await engine.loader.load(entry.name);
  const borrowed = await borrowedMaps(model, request, engine.limits, control);
  const others = values.part ? [{ kind: values.part.kind, layer: values.part.layer, head: values.part.head }] : [];
  const losses = [];
  const begin = performance.now();
  for (let index = first; index < parts.length && (index === first || performance.now() - begin < BATCH_MS); index++) {
    losses.push({ ...parts[index], loss: round(ablationLoss(model, translation, [...others, parts[index]], borrowed), 4) });
  }
  return { losses, next: first + losses.length, all: parts.length };
}

/** Finds which of the next heads, pruned in order, changes the translation. */
async function findChange(engine, { request: values, order, first = 1 }, control) {
  const { entry, request: page } = engine.check({ ...values, interventions: null });
  const request = ownChoice(page);
  const original = await engine.translate(entry, request, control);
  const begin = performance.now();
  let count = first;
  for (; original && count <= order.length && (count === first || performance.now() - begin < BATCH_MS); count++) {
    const interventions = order.slice(0, count).map(({ kind, layer, head }) => ({ kind, layer, head, action: 'remove' }));
    const changed = await engine.translate(entry, { ...request, interventions }, control);
    if (changed && changed.text !== original.text) return { found: count, next: count + 1, all: order.length };
  }
  return { found: null, next: count, all: order.length };
}

/** The weights of one row, from the products of its query and the keys. */
async function answerRow(engine, values, control) {
  const { entry, request } = engine.check(values.request);
  const translation = await engine.translate(entry, request, control);
  if (!translation) return null;
  const model = await engine.loader.load(entry.name);
  return explainRow(model, translation, await requestChanges(engine, model, translation), values);
}

/** The search tree of a request. */
async function drawSearch(engine, { request: values }, control) {
  const { entry, request } = engine.check(values);
  const translation = await engine.translate(entry, request, control);
  return translation && searchValues(await engine.loader.load(entry.name), translation);
}

/** Functions by the name of their call. */
export const ANSWERS = {
  stream_messages: streamMessages,
  read_back: readBack,
  changed_translation: changedTranslation,
  measure_importance: (engine, values, control) => measureBatch(engine, values, allParts, control),
  measure_interactions: (engine, values, control) => measureBatch(engine, values, allHeads, control),
  find_change: findChange,
  explain_row: answerRow,
  draw_search: drawSearch,
  lesson_tensors: lessonTensors,
  strongest_effects: strongestEffects,
  measured_effect: measuredEffect,
  map_effects: mapEffects,
  name_rival: nameRival,
  predict_losses: predictLosses,
  account_word: answerAccount,
  account_heads: answerAccountHeads,
  account_keys: answerAccountKeys,
  logit_details: logitDetails,
  export: exportFile,
};
