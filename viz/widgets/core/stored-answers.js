// Files with the answers to several calls. `viz/static_site/lesson_content.py` makes the same keys.

/** Keys of the answers by call. @type {Record<string, (values: any) => string>} */
const KEYS = {
  run_build_line: ({ part, text, sides }) => [part, ...(sides ? [sides.q, sides.k, sides.v] : [text])].join(' '),
};

/** The answer to a call from the content of its file. */
export const storedEntry = (call, values, content) => (call in KEYS ? content[KEYS[call](values)] : content);
