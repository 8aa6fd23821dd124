// Stored answers of a static page, for calls that need no sentence. `viz/static_site/lesson_content.py` writes the same keys.

/**
 * Functions from the values of a call to the key of its answer. Files of other calls contain one answer.
 * @type {Record<string, (values: any) => string>}
 */
const KEYS = {
  run_build_line: ({ part, text, sides }) => [part, ...(sides ? [sides.q, sides.k, sides.v] : [text])].join(' '),
  run_experiment: ({ set }) => JSON.stringify(Object.values(set)),
};

/**
 * The URL of the file for a call.
 * @param {Record<string, string>} files URLs by model, by lesson step or by both; "": for calls that depend on neither
 */
export function findStoredUrl(files, { lesson, step, model, request }) {
  const modelName = model ?? request?.model ?? '';
  return files[`${lesson}.${step}`] ?? files[`${lesson}.${step}.${modelName}`] ?? files[modelName] ?? files[''];
}

/**
 * The answer to a call from the content of its file.
 * @param {string} call
 * @param {any} content
 * @param {Record<string, any>} models of the page
 */
export function findStoredAnswer(call, values, content, models) {
  if (!(call in KEYS)) return content;
  const entry = content[KEYS[call](values)];
  return call === 'run_experiment' ? { ...entry, model: models[values.request.model].lesson_model } : entry;
}
