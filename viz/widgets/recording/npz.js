// Reads NumPy archives (`.npz`: a zip of arrays, stored or deflated) in the browser. The input is untrusted.

export const MAX_BYTES = 160_000_000; // maximum inflated size of all arrays
export const MAX_WEIGHTS = 8_000_000;
export const MAX_CHARACTERS = 4_000_000; // of all texts of one array, padded to the longest
const MAX_HEADER_BYTES = 10_000; // NumPy itself reads no longer header

/** An error in a file. Its text is the phrase `opened_WORD` with `values`. */
export class FileError extends Error {
  /** @param {string} word @param {Record<string, any>} values */
  constructor(word, values = {}) {
    super(word);
    this.word = word;
    this.values = values;
  }
}

// Signatures of zip records. The end record has the offset of the central directory.
const END = 0x06054b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;

/**
 * Inflates the files of a zip archive. Returns them by name, without files for which `filter` returns false.
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {(name: string) => boolean} filter
 */
export async function unzip(bytes, filter) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const files = new Map();
  let left = MAX_BYTES;
  try {
    for (const { name, method, size, packed, start } of contents(view, bytes)) {
      if (!filter(name)) continue;
      left -= size;
      if (left < 0) throw new FileError('too_large', { limit: MAX_BYTES / 1e6 });
      const from = start + 30 + view.getUint16(start + 26, true) + view.getUint16(start + 28, true);
      if (view.getUint32(start, true) !== LOCAL || from + packed > bytes.length) throw new FileError('broken');
      files.set(name, await inflate(bytes.subarray(from, from + packed), method, size));
    }
  } catch (error) {
    throw error instanceof FileError ? error : new FileError('broken'); // truncated or invalid deflate data
  }
  return files;
}

function* contents(view, bytes) {
  let end = bytes.length - 22;
  while (end >= 0 && end > bytes.length - 66_000 && view.getUint32(end, true) !== END) end--;
  if (end < 0 || view.getUint32(end, true) !== END) throw new FileError('broken');
  let at = view.getUint32(end + 16, true);
  for (let count = view.getUint16(end + 10, true); count > 0; count--) {
    if (view.getUint32(at, true) !== ENTRY) throw new FileError('broken');
    const [nameLength, extra, comment] = [28, 30, 32].map((place) => view.getUint16(at + place, true));
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength));
    const about = { method: view.getUint16(at + 10, true), packed: view.getUint32(at + 20, true), size: view.getUint32(at + 24, true) };
    yield { name, ...about, start: view.getUint32(at + 42, true) };
    at += 46 + nameLength + extra + comment;
  }
}

/** Inflates exactly `size` bytes. Stops if the archive holds more bytes than it declares. */
async function inflate(bytes, method, size) {
  if (method === 0 && bytes.length === size) return bytes;
  if (method !== 8) throw new FileError('broken');
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader();
  const whole = new Uint8Array(size);
  let done = 0;
  for (;;) {
    const { value, done: isEnd } = await reader.read();
    if (isEnd) break;
    if (done + value.length > size) {
      await reader.cancel();
      throw new FileError('broken');
    }
    whole.set(value, done);
    done += value.length;
  }
  if (done !== size) throw new FileError('broken');
  return whole;
}

/** A number of 16 bits: sign, five bits of exponent, ten of fraction. */
function half(bits) {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size =
    exponent === 31 ? (fraction ? NaN : Infinity) : exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24;
  return bits & 0x8000 ? -size : size;
}

const READERS = {
  '<f2': (view, at) => half(view.getUint16(at, true)),
  '<f4': (view, at) => view.getFloat32(at, true),
  '<f8': (view, at) => view.getFloat64(at, true),
  '<i8': (view, at) => Number(view.getBigInt64(at, true)),
  '<i4': (view, at) => view.getInt32(at, true),
  '|u1': (view, at) => view.getUint8(at),
};

/**
 * Parses a NumPy array (`.npy`) into its shape and its numbers or texts.
 * @param {Uint8Array<ArrayBuffer>} bytes
 */
export function parseNpy(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 10 || String.fromCharCode(...bytes.subarray(1, 6)) !== 'NUMPY') throw new FileError('broken');
  const long = bytes[6] > 1;
  const headerStart = long ? 12 : 10;
  if (bytes.length < headerStart) throw new FileError('broken');
  const headerBytes = long ? view.getUint32(8, true) : view.getUint16(8, true);
  if (headerBytes > MAX_HEADER_BYTES) throw new FileError('broken');
  const head = new TextDecoder('latin1').decode(bytes.subarray(headerStart, headerStart + headerBytes));
  const [, type] = head.match(/'descr':\s*'([^']+)'/) ?? [];
  const [, sizes] = head.match(/'shape':\s*\(([^)]*)\)/) ?? [];
  if (type === undefined || sizes === undefined || /'fortran_order':\s*True/.test(head))
    throw new FileError('kind_of_array', { type: type ?? '?' });
  const shape = sizes
    .split(',')
    .filter((each) => each.trim())
    .map(Number);
  const count = shape.reduce((all, each) => all * each, 1);
  const from = headerStart + head.length;
  const [, letter, width] = type.match(/^[<|]([US])(\d+)$/) ?? [];
  const size = width === undefined ? Number(type.slice(2)) : (letter === 'U' ? 4 : 1) * Number(width);
  if (!(width !== undefined || READERS[type])) throw new FileError('kind_of_array', { type });
  if (!shape.every((each) => Number.isSafeInteger(each) && each >= 0)) throw new FileError('broken');
  if (from + count * Math.max(1, size) > bytes.length) throw new FileError('broken');
  if (width === undefined && count > MAX_WEIGHTS) throw new FileError('too_many', { limit: MAX_WEIGHTS / 1e6 });
  if (width !== undefined && count * Math.max(1, Number(width)) > MAX_CHARACTERS)
    throw new FileError('long_texts', { limit: MAX_CHARACTERS / 1e6 });
  if (width === undefined) {
    const numbers = new Float32Array(count);
    for (let place = 0; place < count; place++) numbers[place] = READERS[type](view, from + place * size);
    return { shape, numbers };
  }
  const readName = letter === 'U' ? readText : readBytes;
  return { shape, texts: Array.from({ length: count }, (_, place) => readName(view, from + place * size, Number(width))) };
}

/** Reads a zero-terminated text of at most `width` bytes of UTF-8. */
function readBytes(view, from, width) {
  const bytes = new Uint8Array(view.buffer, view.byteOffset + from, width);
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
}

/** Reads a zero-terminated text of at most `width` UTF-32 characters. */
function readText(view, from, width) {
  let text = '';
  for (let place = 0; place < width; place++) {
    const code = view.getUint32(from + 4 * place, true);
    if (code === 0) break;
    text += code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
  }
  return text;
}
