// Bytes ↔ characters. Invalid bytes become U+FFFD, in the groups of Python's `bytes.decode`.

const encoder = new TextEncoder();

export const utf8Bytes = (text) => encoder.encode(text);

/** Ranges of the second byte of a character by its first byte; others have 0x80 to 0xbf. */
const SECOND_BYTES = new Map([
  [0xe0, [0xa0, 0xbf]],
  [0xed, [0x80, 0x9f]],
  [0xf0, [0x90, 0xbf]],
  [0xf4, [0x80, 0x8f]],
]);

function byteCount(lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

/**
 * The characters of bytes, each with its number of bytes.
 * @param {ArrayLike<number>} bytes
 * @returns {{ character: string, size: number, valid: boolean }[]}
 */
export function decodeCharacters(bytes) {
  const results = [];
  for (let at = 0; at < bytes.length; ) {
    const lead = bytes[at];
    const length = byteCount(lead);
    let code = length === 1 ? lead : lead & (0x7f >> length);
    let size = 1;
    while (size < length) {
      const [low, high] = (size === 1 && SECOND_BYTES.get(lead)) || [0x80, 0xbf];
      const byte = bytes[at + size] ?? 0;
      if (byte < low || byte > high) break;
      code = (code << 6) | (byte & 0x3f);
      size++;
    }
    const valid = size === length;
    results.push({ character: valid ? String.fromCodePoint(code) : '\ufffd', size, valid });
    at += size;
  }
  return results;
}
