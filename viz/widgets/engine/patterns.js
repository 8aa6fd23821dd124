// Python's regular expressions, which `viz/static_site/browser_patterns.py` translates to JavaScript.

/** @typedef {[string, string]} Pattern source and flags */

/** Compiles a pattern, with `extraFlags`. */
export const compile = (/** @type {Pattern} */ [source, flags], extraFlags = '') => new RegExp(source, flags + extraFlags);

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

/** Returns the named groups of a match that are not empty. */
export const namedGroups = (/** @type {RegExpMatchArray} */ match) =>
  /** @type {Record<string, string>} */ (Object.fromEntries(Object.entries(match.groups ?? {}).filter(([, text]) => text)));

/** Removes a suffix, like Python's `str.removesuffix`. */
export const removeSuffix = (text, end) => (end && text.endsWith(end) ? text.slice(0, -end.length) : text);

/** Splits a text at the first separator, like Python's `str.partition`: `[before, separator, after]`, or `[text, '', '']`. */
export function partition(text, separator) {
  const at = text.indexOf(separator);
  return at < 0 ? [text, '', ''] : [text.slice(0, at), separator, text.slice(at + separator.length)];
}
