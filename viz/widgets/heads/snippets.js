// What is shown, as lines to paste: a frame for another page, and Python that computes the same.

const SIZE = { width: 760, height: 720 }; // pixels of a frame
const ESCAPED = { '&': '&amp;', '"': '&quot;', '<': '&lt;', '>': '&gt;' };
const escaped = (text) => text.replace(/[&"<>]/g, (sign) => ESCAPED[sign]);

/** An element for another page; `name` is what a screen reader says of it. */
export function frameOf(address, name) {
  return `<iframe src="${escaped(address)}" title="${escaped(name)}" width="${SIZE.width}" height="${SIZE.height}" loading="lazy" style="border: 0"></iframe>`;
}

/** A value as Python writes it. JSON's strings and numbers are Python's, too. */
export function literal(value) {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return Array.isArray(value) ? `[${value.map(literal).join(', ')}]` : JSON.stringify(value);
}

/** Lines that give the very map that is shown. `asked` is the translation's request, with all its options. */
export function pythonOf({ model, text, ...options }, { kind, layer, head }) {
  const given = Object.entries(options).filter(([, value]) => value !== null && value !== undefined && value !== '');
  const said = [literal(text), ...given.map(([name, value]) => `${name}=${literal(value)}`)];
  const place = [layer, head].filter((each) => typeof each === 'number');
  const map =
    typeof layer === 'number' && (typeof head === 'number' || head === 'mean')
      ? `result.attention_map(${[literal(kind), ...place].join(', ')})`
      : `result.attention.of(${literal(kind)})  # [layer, head, query, key]`;
  return [
    'from headlight import Translator',
    '',
    `translator = Translator.load(${literal(model)})`,
    `result = translator.translate(${said.join(', ')})`,
    map,
    '',
  ].join('\n');
}
