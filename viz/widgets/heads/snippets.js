// The current view as snippets: an iframe for another page, and equivalent Python.

const SIZE = { width: 760, height: 720 }; // pixels of the iframe
const ESCAPED = { '&': '&amp;', '"': '&quot;', '<': '&lt;', '>': '&gt;' };
const escapeHtml = (text) => text.replace(/[&"<>]/g, (sign) => ESCAPED[sign]);

/** An iframe for another page; `name` is its accessible name. */
export function formatIframe(address, name) {
  return `<iframe src="${escapeHtml(address)}" title="${escapeHtml(name)}" width="${SIZE.width}" height="${SIZE.height}" loading="lazy" style="border: 0"></iframe>`;
}

/** A value as Python writes it. JSON's strings and numbers are Python's, too. */
export function toPythonLiteral(value) {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(toPythonLiteral).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const entries = Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${toPythonLiteral(item)}`);
  return `{${entries.join(', ')}}`;
}

/**
 * Python code that reproduces the displayed map; options at their defaults are omitted.
 * The first argument is the translation's request with all options; `reverseModel` reranked it, if given.
 */
export function formatPythonSnippet({ model, text, ...options }, { kind, layer, head }, defaults = {}, reverseModel = '') {
  // A forced translation needs no search options, and `back_weight` without a reverse model is an error.
  const isIncluded = (name) => !(name in defaults && options.target) && (name !== 'back_weight' || reverseModel);
  const isChanged = ([name, value]) => value !== null && value !== undefined && value !== '' && value !== defaults[name];
  const changed = Object.entries(options).filter(([name, value]) => isIncluded(name) && isChanged([name, value]) && String(value));
  const arguments_ = [toPythonLiteral(text), ...changed.map(([name, value]) => `${name}=${toPythonLiteral(value)}`)];
  if (reverseModel && !options.target) arguments_.push(`way_back=Translator.load(${toPythonLiteral(reverseModel)})`);
  const indices = [layer, head].filter((index) => typeof index === 'number');
  const map =
    typeof layer === 'number' && (typeof head === 'number' || head === 'mean')
      ? `result.attention_map(${[toPythonLiteral(kind), ...indices].join(', ')})`
      : `result.attention.of(${toPythonLiteral(kind)})  # [layer, head, query, key]`;
  return [
    'from headlight import Translator',
    '',
    `translator = Translator.load(${toPythonLiteral(model)})`,
    `result = translator.translate(${arguments_.join(', ')})`,
    map,
    '',
  ].join('\n');
}
