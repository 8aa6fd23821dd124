// Reads the answers of saved pages. Only this module handles older formats.

/** @typedef {import('messages').Answer} Answer */

/** @type {Answer['version']} */
const VERSION = 2;

/**
 * Converts an answer to the current format. Version 1 has no version number, calls defaults "usual", and may lack
 * measures.
 * @param {any} saved
 * @returns {Answer}
 */
export function readSavedAnswer(saved) {
  if (saved.version === VERSION) return saved;
  /** @type {Omit<Answer, 'version' | 'model'>} */
  const fields = { opening: null, late: [], measures: { encoder: {}, decoder: {}, cross: {} }, ...saved };
  const { usual = {}, usual_source = '', usual_target = '', ...model } = saved.model;
  const choices = { sources: [], targets: [], left_out: [], python_defaults: null };
  return {
    ...fields,
    version: VERSION,
    model: { ...choices, ...model, defaults: usual, default_source: usual_source, default_target: usual_target },
  };
}
