// Regular expressions of Python, which the tables have in JavaScript's syntax (`viz/static_site/browser_patterns.py`).

/** @typedef {[string, string]} Pattern source and flags */

/** Compiles a pattern, with more flags. */
export const compile = (/** @type {Pattern} */ [source, flags], more = '') => new RegExp(source, flags + more);

/**
 * Compiles the patterns of a table.
 * @param {Record<string, Pattern>} patterns
 * @returns {Record<string, RegExp>}
 */
export const compileAll = (patterns, more = '') =>
  Object.fromEntries(Object.entries(patterns).map(([name, pattern]) => [name, compile(pattern, more)]));

/** The match of a sticky pattern at a position, or null. */
export function matchAt(/** @type {RegExp} */ pattern, text, position) {
  pattern.lastIndex = position;
  return pattern.exec(text);
}

/** The groups of a match that are not empty. */
export const namedGroups = (/** @type {RegExpMatchArray} */ match) =>
  /** @type {Record<string, string>} */ (Object.fromEntries(Object.entries(match.groups ?? {}).filter(([, text]) => text)));

/** A text without this end, if it has it. */
export const withoutEnd = (text, end) => (end && text.endsWith(end) ? text.slice(0, -end.length) : text);

/** A text before and after the first mark; the mark, or an empty text without it, is between them. */
export function partition(text, mark) {
  const at = text.indexOf(mark);
  return at < 0 ? [text, '', ''] : [text.slice(0, at), mark, text.slice(at + mark.length)];
}
