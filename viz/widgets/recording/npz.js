// Reads NumPy archives (`.npz`: a zip of arrays, stored or deflated) in the browser. The input is untrusted.

export const MAX_BYTES = 160_000_000; // maximum inflated size of all arrays
export const MAX_WEIGHTS = 8_000_000;
export const MAX_CHARACTERS = 4_000_000; // characters in all texts of an array, which are padded to the longest
const MAX_HEADER_BYTES = 10_000; // NumPy rejects longer headers, too

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
  let bytesLeft = MAX_BYTES;
  try {
    for (const { name, method, size, packed, start } of readDirectory(view, bytes)) {
      if (!filter(name)) continue;
      bytesLeft -= size;
      if (bytesLeft < 0) throw new FileError('too_large', { limit: MAX_BYTES / 1e6 });
      const from = start + 30 + view.getUint16(start + 26, true) + view.getUint16(start + 28, true);
      if (view.getUint32(start, true) !== LOCAL || from + packed > bytes.length) throw new FileError('broken');
      files.set(name, await inflate(bytes.subarray(from, from + packed), method, size));
    }
  } catch (error) {
    throw error instanceof FileError ? error : new FileError('broken'); // truncated or invalid deflate data
  }
  return files;
}

function* readDirectory(view, bytes) {
  let end = bytes.length - 22;
  while (end >= 0 && end > bytes.length - 66_000 && view.getUint32(end, true) !== END) end--;
  if (end < 0 || view.getUint32(end, true) !== END) throw new FileError('broken');
  let offset = view.getUint32(end + 16, true);
  for (let count = view.getUint16(end + 10, true); count > 0; count--) {
    if (view.getUint32(offset, true) !== ENTRY) throw new FileError('broken');
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((field) => view.getUint16(offset + field, true));
    const name = new TextDecoder().decode(bytes.subarray(offset + 46, offset + 46 + nameLength));
    const sizes = { packed: view.getUint32(offset + 20, true), size: view.getUint32(offset + 24, true) };
    yield { name, method: view.getUint16(offset + 10, true), ...sizes, start: view.getUint32(offset + 42, true) };
    offset += 46 + nameLength + extraLength + commentLength;
  }
}

/** Inflates exactly `size` bytes. Throws if the entry has more or fewer bytes than declared. */
async function inflate(bytes, method, size) {
  if (method === 0 && bytes.length === size) return bytes;
  if (method !== 8) throw new FileError('broken');
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader();
  const result = new Uint8Array(size);
  let length = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    if (length + value.length > size) {
      await reader.cancel();
      throw new FileError('broken');
    }
    result.set(value, length);
    length += value.length;
  }
  if (length !== size) throw new FileError('broken');
  return result;
}

/** Decodes a float16: sign, five exponent bits, ten fraction bits. */
function decodeFloat16(bits) {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const magnitude =
    exponent === 31 ? (fraction ? NaN : Infinity) : exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24;
  return bits & 0x8000 ? -magnitude : magnitude;
}

const READERS = {
  '<f2': (view, offset) => decodeFloat16(view.getUint16(offset, true)),
  '<f4': (view, offset) => view.getFloat32(offset, true),
  '<f8': (view, offset) => view.getFloat64(offset, true),
  '<i8': (view, offset) => Number(view.getBigInt64(offset, true)),
  '<i4': (view, offset) => view.getInt32(offset, true),
  '|u1': (view, offset) => view.getUint8(offset),
};

/**
 * Parses a NumPy array (`.npy`) into its shape and its numbers or texts.
 * @param {Uint8Array<ArrayBuffer>} bytes
 */
export function parseNpy(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 10 || String.fromCharCode(...bytes.subarray(1, 6)) !== 'NUMPY') throw new FileError('broken');
  const isVersion2 = bytes[6] > 1; // whose header length has four bytes
  const headerStart = isVersion2 ? 12 : 10;
  if (bytes.length < headerStart) throw new FileError('broken');
  const headerBytes = isVersion2 ? view.getUint32(8, true) : view.getUint16(8, true);
  if (headerBytes > MAX_HEADER_BYTES) throw new FileError('broken');
  const head = new TextDecoder('latin1').decode(bytes.subarray(headerStart, headerStart + headerBytes));
  const [, type] = head.match(/'descr':\s*'([^']+)'/) ?? [];
  const [, sizes] = head.match(/'shape':\s*\(([^)]*)\)/) ?? [];
  if (type === undefined || sizes === undefined || /'fortran_order':\s*True/.test(head))
    throw new FileError('kind_of_array', { type: type ?? '?' });
  const shape = sizes
    .split(',')
    .filter((size) => size.trim())
    .map(Number);
  const count = shape.reduce((product, size) => product * size, 1);
  const from = headerStart + head.length;
  const [, letter, width] = type.match(/^[<|]([US])(\d+)$/) ?? [];
  const size = width === undefined ? Number(type.slice(2)) : (letter === 'U' ? 4 : 1) * Number(width);
  if (!(width !== undefined || READERS[type])) throw new FileError('kind_of_array', { type });
  if (!shape.every((length) => Number.isSafeInteger(length) && length >= 0)) throw new FileError('broken');
  if (from + count * Math.max(1, size) > bytes.length) throw new FileError('broken');
  if (width === undefined && count > MAX_WEIGHTS) throw new FileError('too_many', { limit: MAX_WEIGHTS / 1e6 });
  if (width !== undefined && count * Math.max(1, Number(width)) > MAX_CHARACTERS)
    throw new FileError('long_texts', { limit: MAX_CHARACTERS / 1e6 });
  if (width === undefined) {
    const numbers = new Float32Array(count);
    for (let index = 0; index < count; index++) numbers[index] = READERS[type](view, from + index * size);
    return { shape, numbers };
  }
  const readName = letter === 'U' ? readText : readBytes;
  return { shape, texts: Array.from({ length: count }, (_, index) => readName(view, from + index * size, Number(width))) };
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
  for (let index = 0; index < width; index++) {
    const code = view.getUint32(from + 4 * index, true);
    if (code === 0) break;
    text += code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
  }
  return text;
}
