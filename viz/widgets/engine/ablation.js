// The log probability of a translation without parts of the attention: `model/experiments/importance.py`.

import { modelChanges } from './interventions.js';
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
 * The log probability that a translation loses without these parts together, in nats. The request's own interventions apply, too.
 * @param {import('./translator.js').Model} model
 * @param {any} translation
 * @param {AttentionPart[]} parts
 * @param {any} [borrowed]
 */
export function ablationLoss({ config, transformer }, translation, parts, borrowed) {
  const removals = parts.map((part) => ({ ...part, action: 'remove' }));
  const changes = modelChanges(config, [...translation.request.interventions, ...removals], borrowed);
  const { source, target, hidden } = translation;
  const sourceIds = source.map(({ id }) => id);
  const ids = target.map(({ id }) => id);
  const allowed = hidden.length ? Uint8Array.from(sourceIds, (_, index) => (hidden.includes(index) ? 0 : 1)) : null;
  const { vectors } = transformer.encode(sourceIds, allowed, changes);
  const inputs = [config.start_id, ...ids.slice(0, -1)];
  const hypothesis = { ids: inputs, caches: transformer.newCaches(inputs.length) };
  const { states } = transformer.decode([hypothesis], transformer.projectMemory(vectors), allowed, changes);
  let total = 0;
  transformer.logits(states, (logits, row) => {
    total += logSoftmax(logits)[ids[row]];
  });
  return translation.logProbability - total;
}
