// Files with the answers of a static page that need no sentence. `viz/static_site/lesson_content.py` makes the same keys.

/** Which answer of a file belongs to a call; other files have one answer. @type {Record<string, (values: any) => string>} */
const KEYS = {
  run_build_line: ({ part, text, sides }) => [part, ...(sides ? [sides.q, sides.k, sides.v] : [text])].join(' '),
  run_experiment: ({ set }) => JSON.stringify(Object.values(set)),
};

/** The URL of the file for a call. @param {Record<string, string>} files by model, by step or by both; "": for all */
export function storedFile(files, { lesson, step, model, request }) {
  const own = model ?? request?.model ?? '';
  return files[`${lesson}.${step}`] ?? files[`${lesson}.${step}.${own}`] ?? files[own] ?? files[''];
}

/**
 * The answer to a call from the content of its file.
 * @param {string} call
 * @param {any} content
 * @param {Record<string, any>} models of the page
 */
export function storedEntry(call, values, content, models) {
  if (!(call in KEYS)) return content;
  const entry = content[KEYS[call](values)];
  return call === 'run_experiment' ? { ...entry, model: models[values.request.model].lesson_model } : entry;
}
