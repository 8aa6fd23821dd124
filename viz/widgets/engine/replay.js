// One more pass over a finished translation, for tensors that a translation does not store.

import { modelChanges } from './interventions.js';
import { borrowedMaps } from './translator.js';

/**
 * The changes of a translation's request.
 * @param {import('./engine.js').Engine} engine
 * @param {import('./translator.js').Model} model
 * @returns {Promise<import('./transformer.js').Changes>}
 */
export async function requestChanges(engine, model, { request }) {
  const borrowed = await borrowedMaps(model, request, engine.limits, {});
  return modelChanges(model.config, request.interventions, /** @type {any} */ (borrowed));
}

/**
 * Encodes the source and decodes the translation with these changes.
 * @param {import('./translator.js').Model} model
 * @param {any} translation
 * @param {import('./transformer.js').Changes} changes
 * @param {{ decodes?: boolean, encoded?: Float32Array | null }} [options] `encoded`: the encoder's output, if it is known
 * @returns {{ memory: Float32Array, states: Float32Array | null }} [token, width]
 */
export function replay({ config, transformer }, { source, target, hidden }, changes, { decodes = true, encoded = null } = {}) {
  const ids = source.map(({ id }) => id);
  const allowed = hidden.length ? Uint8Array.from(ids, (_, index) => (hidden.includes(index) ? 0 : 1)) : null;
  const memory = encoded ?? transformer.encode(ids, allowed, changes).vectors;
  if (!decodes) return { memory, states: null };
  const inputs = [config.start_id, ...target.slice(0, -1).map(({ id }) => id)];
  const hypothesis = { ids: inputs, caches: transformer.newCaches(inputs.length) };
  const { states } = transformer.decode([hypothesis], transformer.projectMemory(memory), allowed, changes);
  return { memory, states };
}
