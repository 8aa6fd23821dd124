// Answers of saved pages: this reader alone knows the formats of older versions.

/** @typedef {import('messages').Answer} Answer */

/** @type {Answer['version']} */
const VERSION = 2;

/**
 * The answer in today's format. Version 1 had no number, called defaults "usual", and had no measures at first.
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
