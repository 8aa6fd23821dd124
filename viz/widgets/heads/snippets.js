// The current view as snippets: an iframe for another page, and equivalent Python.

const SIZE = { width: 760, height: 720 }; // pixels of a frame
const ESCAPED = { '&': '&amp;', '"': '&quot;', '<': '&lt;', '>': '&gt;' };
const escapeHtml = (text) => text.replace(/[&"<>]/g, (sign) => ESCAPED[sign]);

/** An iframe for another page; `name` is its accessible name. */
export function iframeSnippet(address, name) {
  return `<iframe src="${escapeHtml(address)}" title="${escapeHtml(name)}" width="${SIZE.width}" height="${SIZE.height}" loading="lazy" style="border: 0"></iframe>`;
}

/** A value as Python writes it. JSON's strings and numbers are Python's, too. */
export function toPythonLiteral(value) {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(toPythonLiteral).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const entries = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${toPythonLiteral(each)}`);
  return `{${entries.join(', ')}}`;
}

/**
 * Python code that reproduces the displayed map; options at their defaults are omitted.
 * `asked` is the translation's request with all options; `wayBack` is the reverse model that reranked it, if any.
 */
export function pythonSnippet({ model, text, ...options }, { kind, layer, head }, defaults = {}, wayBack = '') {
  // A forced translation needs no search options, and `back_weight` without a reverse model is an error.
  const isSaid = (name) => !(name in defaults && options.target) && (name !== 'back_weight' || wayBack);
  const differs = ([name, value]) => value !== null && value !== undefined && value !== '' && value !== defaults[name];
  const changed = Object.entries(options).filter(([name, value]) => isSaid(name) && differs([name, value]) && String(value));
  const arguments_ = [toPythonLiteral(text), ...changed.map(([name, value]) => `${name}=${toPythonLiteral(value)}`)];
  if (wayBack && !options.target) arguments_.push(`way_back=Translator.load(${toPythonLiteral(wayBack)})`);
  const place = [layer, head].filter((each) => typeof each === 'number');
  const map =
    typeof layer === 'number' && (typeof head === 'number' || head === 'mean')
      ? `result.attention_map(${[toPythonLiteral(kind), ...place].join(', ')})`
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
