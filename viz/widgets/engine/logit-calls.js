// The call `logit_details`: the prediction of each layer, and the parts of a word's logit. `viz/tabs/attribution.py`.

import { wordLabel } from './labels.js';
import { logitParts } from './logit-parts.js';
import { requestChanges } from './replay.js';
import { logSoftmax, topIds } from './search.js';
import { recordPass } from './tape.js';
import { checkInteger, loadTranslation } from './word-query.js';

const RIVAL_COUNT = 3;

const round = (number, digits) => Math.round(number * 10 ** digits) / 10 ** digits;

/** The prediction of one layer in each row: the best token, its probability, and the written token's probability and rank. */
function layerPredictions({ transformer, targetTokenizer }, stream, ids) {
  const { finalNorm } = transformer.sides.decoder;
  const states = new Float32Array(stream.length);
  if (finalNorm) transformer.normalise(stream, finalNorm, states);
  else states.set(stream);
  const rows = [];
  transformer.logits(states, (logits, row) => {
    const [best] = topIds(logits, 1);
    const rank = logits.reduce((count, logit) => count + Number(logit > logits[ids[row]]), 0);
    const logProbabilities = logSoftmax(logits);
    const chance = (id) => round(Math.exp(logProbabilities[id]), 4);
    rows.push({ says: wordLabel(targetTokenizer.label(best)), chance: chance(best), own: chance(ids[row]), rank });
  });
  return rows;
}

/** The logits of one row. */
function rowLogits({ transformer }, states, row) {
  let copy = new Float32Array();
  const { width } = transformer;
  transformer.logits(states.subarray(row * width, (row + 1) * width), (logits) => {
    copy = logits.slice();
  });
  return copy;
}

/** @param {import('./engine.js').Engine} engine */
export async function logitDetails(engine, values, control) {
  const query = await loadTranslation(engine, values, control);
  if (!query) return null;
  const { model, translation } = query;
  const ids = translation.target.map(({ id }) => id);
  const position = checkInteger('token', values.token, ids.length - 1);
  const tape = recordPass(model, translation, await requestChanges(engine, model, translation));
  const streams = Array.from({ length: model.config.decoder_layers }, (_, layer) => `decoder.layers.${layer}.around_feed_forward.stream`);
  const layers = ['decoder.embedding.stream', ...streams].map((path) => layerPredictions(model, tape.tensors.get(path), ids));
  const logits = rowLogits(model, tape.states, position);
  const rivals = topIds(logits, RIVAL_COUNT + 1).filter((id) => id !== ids[position]);
  const chosen = [ids[position], ...rivals.slice(0, RIVAL_COUNT)];
  return {
    layers,
    words: chosen.map((id) => wordLabel(model.targetTokenizer.label(id))),
    logits: chosen.map((id) => round(logits[id], 5)),
    terms: logitParts(model, tape, position, chosen).map(({ effects, ...part }) => ({
      ...part,
      effects: effects.map((effect) => round(effect, 6)),
    })),
  };
}
