// Text ↔ ids by byte-level byte-pair encoding, from the `tokenizer.json` of a model (`model/text/tokenizer.py`).

import { isBlankText } from './characters.js';
import { decodeCharacters, utf8Bytes } from './utf8.js';
import { wordIndices } from './words.js';

const SPECIAL = ['<pad>', '<s>', '</s>'];
const MAX_CACHED_PIECES = 20_000;

/**
 * @typedef {{ text: string, id: number, start: number, end: number, word: number | null, special: boolean, piece: number, pieces: number }} Token
 *   `start` and `end` count code points
 */

/** A visible letter for each byte, as in GPT-2. */
const BYTE_LETTERS = (() => {
  const isPrintable = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte < 173) || byte > 173;
  let spare = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : spare++));
})();
const LETTER_BYTES = new Map(BYTE_LETTERS.map((letter, byte) => [letter, byte]));

/** Converts a pattern of the Rust library, which uses Oniguruma's names, to JavaScript. */
function toRegExp(pattern, flags) {
  const converted = pattern
    .replace(/\\p\{(Han|Hiragana|Katakana)\}/g, '\\p{Script=$1}')
    .replace(/\\x\{([0-9A-F]+)\}/g, '\\u{$1}')
    .replaceAll('\\A', '^')
    .replaceAll('\\s', '\\p{White_Space}')
    .replaceAll('\\S', '\\P{White_Space}');
  return new RegExp(converted, flags);
}

export class Tokenizer {
  /** @param {any} file the content of `tokenizer.json` */
  constructor({ model, normalizer, pre_tokenizer }) {
    /** @type {Map<string, number>} */
    this.ids = new Map(Object.entries(model.vocab));
    /** @type {string[]} */
    this.entries = [];
    for (const [entry, id] of this.ids) this.entries[id] = entry;
    this.ranks = new Map(model.merges.map(([left, right], rank) => [`${left} ${right}`, rank]));
    this.endId = /** @type {number} */ (this.ids.get('</s>'));
    this.special = new Map(SPECIAL.map((name) => [this.ids.get(name), name]));
    const bytes = (entry) => Array.from(entry, (letter) => /** @type {number} */ (LETTER_BYTES.get(letter)));
    this.bytes = this.entries.map((entry, id) => (this.special.has(id) ? [] : bytes(entry)));
    this.unspacedStart = toRegExp(normalizer.normalizers[1].pattern.Regex, 'u');
    this.pieces = toRegExp(pre_tokenizer.pretokenizers[0].pattern.Regex, 'gu');
    /** @type {Map<string, number[]>} ids of pieces */
    this.cache = new Map();
  }

  get size() {
    return this.entries.length;
  }

  /** The ids of a text, without special tokens. */
  encode(text) {
    const spaced = ` ${text}`.replace(this.unspacedStart, '');
    const ids = [];
    let end = 0;
    for (const match of spaced.matchAll(this.pieces)) {
      if (match.index > end) ids.push(...this.encodePiece(spaced.slice(end, match.index)));
      ids.push(...this.encodePiece(match[0]));
      end = match.index + match[0].length;
    }
    return end < spaced.length ? [...ids, ...this.encodePiece(spaced.slice(end))] : ids;
  }

  encodePiece(piece) {
    const cached = this.cache.get(piece);
    if (cached) return cached;
    const parts = Array.from(utf8Bytes(piece), (byte) => BYTE_LETTERS[byte]);
    for (;;) {
      let [best, at] = [Infinity, -1];
      for (let index = 0; index + 1 < parts.length; index++) {
        const rank = this.ranks.get(`${parts[index]} ${parts[index + 1]}`) ?? Infinity;
        if (rank < best) [best, at] = [rank, index];
      }
      if (at < 0) break;
      parts.splice(at, 2, parts[at] + parts[at + 1]);
    }
    const ids = parts.map((part) => /** @type {number} */ (this.ids.get(part)));
    if (this.cache.size > MAX_CACHED_PIECES) this.cache.clear();
    this.cache.set(piece, ids);
    return ids;
  }

  /** The text of ids. Special tokens are skipped. */
  decode(ids) {
    const text = decodeCharacters(ids.flatMap((id) => this.bytes[id]))
      .map(({ character }) => character)
      .join('');
    return text.startsWith(' ') ? text.slice(1) : text; // the inserted space
  }

  /** A vocabulary entry with its leading space. Bytes of partial characters are shown as ⟨E4⟩. */
  label(id) {
    if (this.special.has(id)) return /** @type {string} */ (this.special.get(id));
    const bytes = this.bytes[id];
    let at = 0;
    const hex = (byte) => `⟨${byte.toString(16).toUpperCase().padStart(2, '0')}⟩`;
    return decodeCharacters(bytes)
      .map(({ character, size, valid }) => {
        at += size;
        return valid
          ? character
          : bytes
              .slice(at - size, at)
              .map(hex)
              .join('');
      })
      .join('');
  }

  /**
   * The tokens of ids, each with its position in `decode(ids)` and its word.
   * @param {number[]} ids
   * @returns {Token[]}
   */
  tokens(ids) {
    const { characters, positions } = byteOffsets(ids.flatMap((id) => this.bytes[id]));
    /** @type {[number, number, number[]][]} */
    const groups = [];
    let [start, offset] = [0, 0];
    /** @type {number[]} */
    let group = [];
    for (const id of ids) {
      group.push(id);
      offset += this.bytes[id].length;
      const end = positions.get(offset) ?? start;
      if (end <= start) continue;
      if (characters[start] === ' ' && !isBlankText(characters.slice(start, end).join(''))) start++;
      groups.push([start, end, group]);
      [start, group] = [end, []];
    }
    groups.push([characters.length, characters.length, group]); // special tokens
    const isOrdinary = (id) => !this.special.has(id);
    const spans = groups.flatMap(([from, to, members]) =>
      members.filter(isOrdinary).map(() => /** @type {[number, number]} */ ([from, to])),
    );
    const words = wordIndices(characters, spans).values();
    return groups.flatMap(([from, to, members]) => {
      const pieces = members.filter(isOrdinary).length;
      let piece = 0;
      return members.map((id) => {
        if (!isOrdinary(id)) {
          return { text: this.label(id), id, start: from, end: from, word: null, special: true, piece: 0, pieces: 1 };
        }
        const word = /** @type {number} */ (words.next().value);
        return { text: characters.slice(from, to).join(''), id, start: from, end: to, word, special: false, piece: piece++, pieces };
      });
    });
  }
}

/** The decoded characters without the inserted space, and the position of each byte offset where a character begins. */
function byteOffsets(bytes) {
  const results = decodeCharacters(bytes);
  const characters = results.map(({ character }) => character);
  let spaces = 0;
  while (characters[spaces] === ' ') spaces++;
  const inserted = spaces < characters.length ? spaces - 1 : 0;
  const positions = new Map([[0, 0]]);
  let offset = 0;
  results.forEach(({ size }, index) => {
    offset += size;
    const position = index + 1;
    positions.set(offset, position - (spaces > 0 && position > inserted ? 1 : 0));
  });
  return { characters: spaces > 0 ? characters.slice(1) : characters, positions };
}
