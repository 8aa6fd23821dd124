// One pass over a finished translation that records what the pass back through the model needs (`reverse-pass.js`).

import { attentionPath } from './attention.js';
import { replay } from './replay.js';

const RECORDED = ['embedded', 'positioned', 'stream', 'carried', 'attended', 'output', 'hidden', 'values', 'mixed']; // last parts of the paths

/**
 * @typedef {{ shape: import('./attention.js').MapShape, edits: import('./attention.js').Edits | undefined, queries: Float32Array,
 *   keys: Float32Array, softmax: Float32Array, weights: Float32Array }} AttentionRecord `softmax`: weights before interventions
 * @typedef {{ changes: import('./transformer.js').Changes, tensors: Map<string, Float32Array>,
 *   attentions: Map<string, AttentionRecord>, memory: Float32Array, states: Float32Array }} Tape tensors by path, [row, width]
 */

/**
 * @param {import('./translator.js').Model} model
 * @param {any} translation
 * @param {import('./transformer.js').Changes} changes
 * @param {number} [rows] of the decoder: the first tokens of the translation
 * @returns {Tape}
 */
export function recordPass(model, translation, changes, rows = translation.target.length) {
  /** @type {Map<string, Float32Array>} */
  const tensors = new Map();
  /** @type {Map<string, any>} */
  const attentions = new Map();
  const probe = (path, numbers) => {
    if (RECORDED.includes(path.slice(path.lastIndexOf('.') + 1))) tensors.set(path, numbers.slice());
  };
  const attention = (kind, layer) => {
    const edits = changes.attention?.(kind, layer);
    const record = /** @type {any} */ ({ edits });
    attentions.set(attentionPath(kind, layer), record);
    return {
      scores: edits?.scores,
      observe: (queries, keys, _, shape) => {
        const width = queries.length / shape.rows;
        Object.assign(record, { shape, queries: queries.slice(), keys: keys.slice(0, shape.keys * width) });
      },
      weights: (weights, shape, which) => {
        record.softmax = edits ? weights.slice() : weights;
        edits?.weights?.(weights, shape, which);
        record.weights = weights;
      },
    };
  };
  const prefix = { ...translation, target: translation.target.slice(0, rows) };
  const { memory, states } = replay(model, prefix, { ...changes, attention, probe });
  return { changes, tensors, attentions, memory, states: /** @type {Float32Array} */ (states) };
}
