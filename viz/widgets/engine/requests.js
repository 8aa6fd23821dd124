// Requests of the page: validation, and the sentence as the model reads it. `model/translate/requests.py` is the reference.

import { hasLetterOrDigit } from './characters.js';
import { adaptText, cleanText, isBlank, removeEmoji } from './cleaning.js';
import { Fault } from './fault.js';
import { tables } from './tables.js';

const HALF_CHARACTER = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
const [EXTRA_TOKENS, TOKENS_PER_TOKEN] = [16, 2]; // default limit of a translation: twice the source and 16 more
/** Actions of interventions, by the fields that they need besides `action`. */
const CHANGE_FIELDS = {
  drag: ['kind', 'layer', 'head', 'row', 'column', 'amount'],
  copy: ['kind', 'layer', 'head', 'from_layer', 'from_head'],
  borrow: ['kind', 'layer', 'text'],
  zero: ['side', 'layer', 'part'],
  no_positions: ['side'],
  shuffle: ['side'],
  shift: ['side'],
  mask: ['start', 'end'],
  erase: ['start', 'end'],
  swap: ['start', 'end'],
};

/** A wrong value for a message. */
export const abbreviate = (value) => JSON.stringify(value)?.slice(0, 60) ?? String(value);

/** A text of at most so many characters, without halves of characters. */
export function checkText(name, value, longest) {
  if (typeof value !== 'string') throw new Fault(name, 'not_text', { name, given: abbreviate(value) });
  const length = Array.from(value).length;
  if (length > longest) throw new Fault(name, 'too_long', { name, given: length, limit: longest });
  const half = value.search(HALF_CHARACTER);
  if (half >= 0) throw new Fault(name, 'half_character', { name, place: half + 1 });
  return value;
}

function checkWords(name, value, { characters, tokens }) {
  if (value === null || value === undefined || value === '') return null;
  if (!Array.isArray(value)) return checkText(name, value, characters);
  if (value.length > tokens) throw new Fault(name, 'too_many_tokens', { name, given: value.length, limit: tokens });
  if (!value.every((id) => Number.isInteger(id) && id >= 0)) throw new Fault(name, 'wrong_ids', { name });
  return value.length ? value : null;
}

function checkNumber({ name, kind, low, high, empty }, value) {
  if (value === null && empty) return null;
  const isNumber = typeof value === 'number' && value >= low && value <= high;
  const values = { name, low, high, given: abbreviate(value) };
  if (!isNumber || (kind === 'whole' && !Number.isInteger(value)))
    throw new Fault(name, kind === 'whole' ? 'not_whole' : 'not_number', values);
  return value;
}

/** The options of a request, with the model's defaults. */
function checkOptions(values, defaults, beamOfSampling) {
  const numbers = tables.fields.filter(({ kind }) => kind === 'whole' || kind === 'real');
  const options = Object.fromEntries(numbers.map(({ name, default: usual }) => [name, defaults[name] ?? usual]));
  if (beamOfSampling && values.temperature > 0) options.beam_size = 1;
  for (const field of numbers) if (field.name in values) options[field.name] = checkNumber(field, values[field.name]);
  if (options.n_best > options.beam_size) {
    throw new Fault('n_best', 'not_whole', { name: 'n_best', low: 1, high: options.beam_size, given: abbreviate(options.n_best) });
  }
  if (options.temperature > 0 && options.beam_size > 1) throw new Fault('beam_size', 'sampling_with_beam');
  if (options.top_p === 0) throw new Fault('top_p', 'top_p_zero');
  return options;
}

function checkChange(change, config) {
  const field = 'interventions';
  const needed = tables.actions.includes(change?.action) ? ['kind'] : CHANGE_FIELDS[change?.action];
  if (!needed)
    throw new Fault(field, 'not_choice', {
      name: 'action',
      choices: [...tables.actions, ...Object.keys(CHANGE_FIELDS)].join(', '),
      given: abbreviate(change?.action),
    });
  for (const name of needed) if (change[name] === undefined) throw new Fault(field, 'missing', { name });
  const layers = (change.kind ?? change.side) === 'encoder' ? config.encoder_layers : config.decoder_layers;
  const counts = { layer: layers, from_layer: change.layer + 1, head: config.heads, from_head: config.heads };
  for (const [name, count] of Object.entries(counts)) {
    const value = change[name] ?? null;
    if (value !== null && !(Number.isInteger(value) && value >= 0 && value < count)) {
      throw new Fault(field, 'not_whole', { name, low: 0, high: count - 1, given: abbreviate(value) });
    }
  }
}

/**
 * Checks a request of the page.
 * @param {any} values
 * @param {any} defaults options of the model
 * @param {any} config of the model
 * @param {{ characters: number, tokens: number }} limits
 */
export function checkRequest(values, defaults, config, limits) {
  const known = new Set(tables.fields.map(({ name }) => name));
  for (const name of Object.keys(values)) {
    if (!known.has(name)) throw new Fault('text', 'unknown_name', { given: abbreviate(name), choices: [...known].join(', ') });
  }
  const text = checkText('text', values.text, limits.characters);
  if (isBlank(text)) throw new Fault('text', 'blank_text');
  const [target, prefix] = ['target', 'prefix'].map((name) => checkWords(name, values[name], limits));
  if (target !== null && prefix !== null) throw new Fault('prefix', 'target_and_prefix');
  const interventions = values.interventions ?? [];
  if (interventions.length > tables.max_interventions) {
    throw new Fault('interventions', 'too_many_changes', { given: interventions.length, limit: tables.max_interventions });
  }
  for (const change of interventions) checkChange(change, config);
  for (const name of ['source_language', 'target_language']) {
    if (values[name]) throw new Fault(name, 'no_languages', { name, given: abbreviate(values[name]) });
  }
  return { text, target, prefix, interventions, options: checkOptions(values, defaults, true) };
}

/** The request of an answer in the page's form. */
export const requestValues = (model, { text, target, prefix, interventions, options }) => ({
  text,
  model,
  options,
  target,
  prefix,
  source_language: '',
  target_language: '',
  ...(interventions.length ? { interventions } : {}),
});

/** The values of a request from those of an answer, whose options are a field of their own. */
export function flatten(values) {
  const { options = {}, ...rest } = values;
  const { alternatives, ...choices } = options;
  return { ...rest, ...choices };
}

// ---------------------------------------------------------------- the sentence

/** Applies changes of the sentence. Returns its characters and the hidden ones, [start, end]. */
function applyInputChanges(text, interventions) {
  const old = Array.from(text);
  const changes = interventions.filter(({ start }) => start !== undefined).sort((one, other) => one.start - other.start);
  const result = [];
  /** @type {[number, number][]} */
  const hidden = [];
  let [position, end] = [0, 0];
  for (const change of changes) {
    if (change.end > old.length) {
      throw new Fault('interventions', 'not_whole', { name: 'end', low: change.start + 1, high: old.length, given: String(change.end) });
    }
    if (change.start < end) throw new Fault('interventions', 'words_overlap', { start: change.start, end: change.end });
    const unchanged = old.slice(position, change.start);
    const replacement = Array.from(replacementText(change, old));
    position = end = change.end;
    if (!replacement.length && !hasLetterOrDigit(old[end] ?? '')) {
      if (unchanged.at(-1) === ' ') unchanged.pop();
      else if (!result.length && !unchanged.length && old[end] === ' ') position++;
    }
    result.push(...unchanged);
    if (change.action === 'mask') hidden.push([result.length, result.length + replacement.length]);
    result.push(...replacement);
  }
  const changed = [...result, ...old.slice(position)].join('');
  if (isBlank(changed)) throw new Fault('interventions', 'nothing_left');
  return { text: changed, hidden };
}

function replacementText({ action, start, end, text = '' }, old) {
  if (action === 'mask') return old.slice(start, end).join('');
  return action === 'erase' || isBlank(text) ? '' : cleanText(text);
}

/** The token with the characters that were typed. */
function asTyped(token, { original, read }) {
  const [typed, adapted] = [original, read].map((text) => Array.from(text).slice(token.start, token.end).join(''));
  return adapted ? { ...token, text: token.text.replace(adapted, () => typed) } : token;
}

/**
 * The tokens of a sentence, with the indices of hidden ones.
 * @param {any} request
 * @param {import('./tokenizer.js').Tokenizer} tokenizer
 * @param {string} language two letters
 */
export function prepareSource({ text, interventions }, tokenizer, language) {
  const shorter = removeEmoji(cleanText(text));
  const edited = applyInputChanges(shorter, interventions);
  const adapted = adaptText(edited.text, language);
  const tokens = tokenizer.tokens([...tokenizer.encode(adapted.read), tokenizer.endId]);
  const isHidden = ({ special, start, end }) => !special && edited.hidden.some(([from, to]) => start < to && end > from);
  return {
    text: adapted.original,
    tokens: adapted.original === adapted.read ? tokens : tokens.map((token) => asTyped(token, adapted)),
    hidden: [...tokens.keys()].filter((index) => isHidden(tokens[index])),
    adaptations: [...adapted.changes, ...(shorter !== cleanText(text) ? ['emoji'] : [])],
  };
}

/**
 * The ids of a given translation or of its beginning, or null.
 * @param {'target' | 'prefix'} field
 * @param {string | number[] | null} words
 * @param {import('./tokenizer.js').Tokenizer} tokenizer
 * @param {string} language two letters
 * @param {number} limit
 */
export function targetIds(field, words, tokenizer, language, limit) {
  if (words === null) return null;
  if (typeof words === 'string' && isBlank(words)) throw new Fault(field, 'blank_words', { name: field });
  let ids = words;
  if (typeof words === 'string') {
    const text = cleanText(words);
    ids = tokenizer.encode(language === 'zh' ? adaptText(text, language).read : text);
    if (field === 'target') ids = [...ids, tokenizer.endId];
  }
  const numbers = /** @type {number[]} */ (ids);
  if (numbers.some((id) => id >= tokenizer.size)) throw new Fault(field, 'wrong_ids', { name: field });
  if (!numbers.length || numbers.slice(0, -1).includes(tokenizer.endId))
    throw new Fault(field, 'wrong_end', { name: field, end: tokenizer.endId });
  if (numbers.length > limit) throw new Fault(field, 'too_many_tokens', { name: field, given: numbers.length, limit });
  return numbers;
}

/** The number of tokens of a translation at most. */
export function targetLimit(options, sourceCount, prefixCount, most) {
  const limit = Math.min(options.max_length ?? Math.max(TOKENS_PER_TOKEN * sourceCount, prefixCount) + EXTRA_TOKENS, most);
  if (prefixCount > limit) throw new Fault('prefix', 'prefix_too_long', { given: prefixCount, limit });
  return limit;
}
