// The log probability of a translation without parts of the attention: `model/experiments/importance.py`.

import { modelChanges } from './interventions.js';
import { replay } from './replay.js';
import { logSoftmax } from './search.js';

const KINDS = /** @type {const} */ (['cross', 'decoder', 'encoder']);

/** @typedef {{ kind: 'encoder' | 'decoder' | 'cross', layer: number | null, head: number | null }} AttentionPart a head, a layer or a kind */

/** Every kind, then every layer, then every head. */
export function allParts(config) {
  const layerCount = (kind) => (kind === 'encoder' ? config.encoder_layers : config.decoder_layers);
  const layers = KINDS.flatMap((kind) => Array.from({ length: layerCount(kind) }, (_, layer) => ({ kind, layer, head: null })));
  const heads = layers.flatMap((part) => Array.from({ length: config.heads }, (_, head) => ({ ...part, head })));
  return /** @type {AttentionPart[]} */ ([...KINDS.map((kind) => ({ kind, layer: null, head: null })), ...layers, ...heads]);
}

export const allHeads = (config) => allParts(config).filter(({ head }) => head !== null);

/**
 * Changes that also set the weights of these parts to zero.
 * @param {import('./transformer.js').Changes} changes
 * @param {AttentionPart[]} parts
 * @returns {import('./transformer.js').Changes}
 */
export function withoutParts(changes, parts) {
  const attention = (kind, layer) => {
    const edits = changes.attention?.(kind, layer);
    const removed = parts.filter((part) => part.kind === kind && (part.layer ?? layer) === layer);
    if (!removed.length) return edits;
    const weights = (numbers, shape, which) => {
      edits?.weights?.(numbers, shape, which);
      const size = shape.rows * shape.keys;
      for (const { head } of removed) numbers.fill(0, (head ?? 0) * size, ((head ?? shape.heads - 1) + 1) * size);
    };
    return { ...edits, weights };
  };
  return { ...changes, attention };
}

/**
 * The log probability that a translation loses without these parts together, in nats. The request's own interventions apply, too.
 * @param {import('./translator.js').Model} model
 * @param {any} translation
 * @param {AttentionPart[]} parts
 * @param {any} [borrowed]
 */
export function ablationLoss(model, translation, parts, borrowed) {
  const changes = withoutParts(modelChanges(model.config, translation.request.interventions, borrowed), parts);
  const { states } = replay(model, translation, changes);
  let total = 0;
  model.transformer.logits(/** @type {Float32Array} */ (states), (logits, row) => {
    total += logSoftmax(logits)[translation.target[row].id];
  });
  return translation.logProbability - total;
}
