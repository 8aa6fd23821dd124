// Parses an attention file into a recording: `.npz` or `.json` from the page, `headlight inspect` or `view.save`.

import { MAP_KINDS, Recording } from '../core/recording.js';
import { axisSide } from '../core/translation.js';
import { toLevel } from '../core/weight-decoding.js';
import { PICTURE_NAMES, parsePicture, convertPicture } from './file-picture.js';
import { FileError, MAX_BYTES, MAX_CHARACTERS, MAX_WEIGHTS, parseNpy, unzip } from './npz.js';
import { MAX_HEADS, flattenLists, groupByKind, parseKind } from './kind-arrays.js';

const MAX_LABEL_CHARACTERS = 16;
const MAX_NAMES = 8; // array names in an error message
const MAX_NAME_CHARACTERS = 32; // characters of an array name in an error message
const SUM_TOLERANCE = 1e-3; // maximum deviation of a row's sum from 1, without a remark
const WORD_MARK = /^[Ġ▁]/; // a space before the word, in byte-level and SentencePiece vocabularies
const SPECIAL = /^(<\|?[^<>\s]+\|?>|\[[A-Z][A-Z_]*[0-9]*\])$/;

/**
 * Parses a file. Throws a `FileError` if it is invalid.
 * @param {File} file
 */
export async function parseFile(file) {
  if (file.size > MAX_BYTES) throw new FileError('too_large', { limit: MAX_BYTES / 1e6 });
  const bytes = new Uint8Array(await file.arrayBuffer());
  const { names, arrays, texts, picture } = bytes[0] === 0x50 && bytes[1] === 0x4b ? await readArchive(bytes) : readJson(bytes, file.name);
  const kinds = groupByKind(arrays);
  if (!Object.keys(kinds).length) throw new FileError(names.length ? 'no_attention' : 'empty', { names: formatNames(names) });
  return buildRecording(kinds, { ...texts, ...picture }, file.name.replace(/\.\w+$/, ''));
}

/** Names, arrays and texts by name, and the picture's arrays of an `.npz` file. */
async function readArchive(bytes) {
  const [names, arrays, texts, picture] = [[], {}, {}, {}];
  let layers = 0;
  const isNeeded = (file) => {
    const name = file.replace(/\.npy$/, '');
    names.push(name);
    if (name === file || !(parseKind(name) || TEXT_NAMES.includes(name) || PICTURE_NAMES.includes(name))) return false;
    if (++layers > MAX_HEADS) throw new FileError('many_heads', { kind: parseKind(name)?.kind ?? 'self', count: layers, limit: MAX_HEADS });
    return true;
  };
  for (const [file, content] of await unzip(bytes, isNeeded)) {
    const name = file.slice(0, -4);
    const array = TEXT_NAMES.includes(name) ? parseNames(content) : parseNpy(content);
    if (!TEXT_NAMES.includes(name)) {
      const target = PICTURE_NAMES.includes(name) ? picture : arrays;
      target[name] = array.texts ? { shape: array.shape, numbers: new Float32Array(0) } : array;
    } else if (array.texts) texts[name] = array.shape.length ? array.texts : array.texts[0];
    else texts[name] = array;
  }
  return { names, arrays, texts, picture };
}

const SOURCE_TOKEN_NAMES = ['tokens', 'source_tokens', 'input_tokens'];
const TEXT_NAMES = [...SOURCE_TOKEN_NAMES, 'target_tokens', 'decoder_tokens', 'source', 'translation'];

/** The same as `readArchive`, for a JSON file with nested lists. `name`: file name. */
function readJson(bytes, name) {
  let values;
  try {
    values = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw new FileError(name.endsWith('.npz') ? 'broken' : 'no_such_file');
  }
  if (values === null || typeof values !== 'object') throw new FileError('no_such_file');
  const names = Array.isArray(values) ? [] : Object.keys(values);
  const arrayNames = names.filter((name) => parseKind(name) && Array.isArray(values[name]));
  const arrays = Object.fromEntries(arrayNames.map((name) => [name, flattenLists(values[name], parseKind(name).kind)]));
  const picture = Object.fromEntries(
    PICTURE_NAMES.filter((name) => names.includes(name)).map((name) => [name, convertPicture(values[name])]),
  );
  return { names, arrays, texts: Object.fromEntries(TEXT_NAMES.map((name) => [name, values[name]])), picture };
}

/** Parses an array of texts. An array of Python objects has a separate error message. */
function parseNames(content) {
  try {
    return parseNpy(content);
  } catch (error) {
    throw error instanceof FileError && error.values.type === '|O' ? new FileError('objects') : error;
  }
}

/** The first array names of a file for an error message, with long names truncated. */
function formatNames(names) {
  const visible = names
    .slice(0, MAX_NAMES)
    .map((name) => (name.length > MAX_NAME_CHARACTERS ? `${name.slice(0, MAX_NAME_CHARACTERS)}…` : name));
  return [...visible, ...(names.length > MAX_NAMES ? ['…'] : [])].join(', ');
}

/** Builds a recording. Throws if weights are invalid or token counts do not match the arrays. */
function buildRecording(arrays, values, name) {
  const kinds = MAP_KINDS.filter((kind) => arrays[kind]);
  const weightCount = kinds.reduce((sum, kind) => sum + arrays[kind].numbers.length, 0);
  if (weightCount > MAX_WEIGHTS) throw new FileError('too_many', { limit: MAX_WEIGHTS / 1e6 });
  const [recordedKinds, numbers, remarks] = [{}, {}, []];
  for (const kind of kinds) {
    const { shape, numbers: weights } = arrays[kind];
    numbers[kind] = quantise(kind, weights);
    const causal = ['decoder', 'self'].includes(kind) && isCausal(shape, weights);
    recordedKinds[kind] = { shape, layers: [...Array(shape[0]).keys()], allowed: causal ? formatCausalMask(shape[2]) : null };
    const unnormalised = summariseUnnormalisedRows(shape, weights);
    if (unnormalised) remarks.push(['sums', { kind, ...unnormalised }]);
  }
  const lengths = countTokens(recordedKinds, kinds);
  const source = makeTokens(SOURCE_TOKEN_NAMES.map((name) => values[name]).find(Boolean), values.source, lengths.source);
  const target = makeTokens(values.target_tokens, values.translation, lengths.target);
  const decoderInput =
    values.decoder_tokens && kinds.includes('decoder') ? makeTokens(values.decoder_tokens, target.text, lengths.target) : null;
  const picture = kinds.some((kind) => axisSide(kind, 'columns') === 'source') ? parsePicture(values, lengths.source) : null;
  const texts = { source: source.tokens, source_text: source.text, target: target.tokens, text: target.text };
  return new Recording({ name, kinds: recordedKinds, remarks, ...texts, before: decoderInput?.tokens ?? null, picture }, numbers);
}

/** Converts weights to levels. Throws if a weight is not in [0, 1]. */
function quantise(kind, weights) {
  const levels = new Uint16Array(weights.length);
  for (const [index, weight] of weights.entries()) {
    if (!(weight >= 0 && weight <= 1 + 30 * SUM_TOLERANCE)) throw new FileError('no_weights', { kind });
    levels[index] = toLevel(weight);
  }
  return levels;
}

function isCausal([, , rows, columns], weights) {
  if (rows < 2 || rows !== columns) return false;
  return weights.every((weight, cell) => weight === 0 || cell % columns <= Math.floor(cell / columns) % rows);
}

/** The `allowed` text of a causal mask. */
const formatCausalMask = (size) =>
  Array.from({ length: size * size }, (_, cell) => Number(cell % size <= Math.floor(cell / size))).join('');

/** Number of rows whose sum is not 1, with the lowest and the highest sum; null if all sums are 1. */
function summariseUnnormalisedRows([, , , columns], weights) {
  const sums = [];
  for (let start = 0; start < weights.length; start += columns) {
    let sum = 0;
    for (let index = start; index < start + columns; index++) sum += weights[index];
    if (Math.abs(sum - 1) > SUM_TOLERANCE) sums.push(sum);
  }
  if (!sums.length) return null;
  const round = (number) => Math.round(number * 1e4) / 1e4;
  const [low, high] = sums.reduce(([minimum, maximum], sum) => [Math.min(minimum, sum), Math.max(maximum, sum)], [Infinity, -Infinity]);
  return { rows: sums.length, low: round(low), high: round(high) };
}

/** Token counts of source and target. Throws if arrays disagree. */
function countTokens(recordedKinds, kinds) {
  const lengths = { source: 0, target: 0 };
  for (const kind of kinds) {
    for (const [axis, dimension] of /** @type {[string, number][]} */ ([
      ['rows', 2],
      ['columns', 3],
    ])) {
      const side = axisSide(kind, axis);
      const count = recordedKinds[kind].shape[dimension];
      if (lengths[side] && lengths[side] !== count) throw new FileError('sizes', { first: lengths[side], second: count });
      lengths[side] = count;
    }
  }
  return lengths;
}

/** Locates tokens in the text, else in their joined names. Tokens without names in the file are numbered. */
function makeTokens(fileNames, text, count) {
  const names = fileNames ?? Array.from({ length: count }, (_, index) => String(index + 1));
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string')) throw new FileError('no_names');
  if (names.length !== count) throw new FileError('sizes', { first: names.length, second: count });
  const characters = names.reduce((sum, name) => sum + name.length, typeof text === 'string' ? text.length : 0);
  if (characters > MAX_CHARACTERS) throw new FileError('long_texts', { limit: MAX_CHARACTERS / 1e6 });
  const joinedNames = names.filter((name) => !SPECIAL.test(name)).join(' ');
  return (typeof text === 'string' && locateTokens(names, text)) || locateTokens(names, joinedNames) || makeWordTokens(names, joinedNames);
}

/** Makes each name a word, if the names cannot be located in the joined text because they are empty or spaces. */
function makeWordTokens(names, text) {
  return { tokens: names.map((name, word) => makeToken(name, { start: 0, end: 0, word })), text };
}

function locateTokens(names, text) {
  const letters = [...text]; // positions count code points, as in Python
  const tokens = [];
  let [end, word] = [0, 0];
  for (const name of names) {
    const nameLetters = [...name];
    let start = end;
    while (start < letters.length && /\s/.test(letters[start]) && letters[start] !== nameLetters[0]) start++;
    const last = tokens.at(-1);
    if (nameLetters.length && nameLetters.every((letter, index) => letters[start + index] === letter)) {
      if (last && (start > last.end || !/\p{L}/u.test(nameLetters[0]))) word++;
      tokens.push(makeToken(name, { start, end: start + nameLetters.length, word }));
      end = start + nameLetters.length;
    } else if (last && !last.special && last.name === name) tokens.push({ ...last });
    else if (SPECIAL.test(name)) tokens.push(makeToken(name, { start: end, end, word: null, special: true }));
    else return null;
  }
  return { tokens, text };
}

function makeToken(name, fields) {
  const word = name.replace(WORD_MARK, '') || name;
  const letters = [...word.replace(/\s/g, '␣')];
  const label = letters.length > MAX_LABEL_CHARACTERS ? `${letters.slice(0, MAX_LABEL_CHARACTERS - 1).join('')}…` : letters.join('');
  return { name, label: label || '∅', full: letters.join('') || '∅', special: false, ...fields };
}
