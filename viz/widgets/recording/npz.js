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

// ZIP records: sections 4.3.7, 4.3.12, 4.3.16 of PKWARE’s APPNOTE.TXT. The lengths exclude the names, extra fields and
// comments that follow.
const LOCAL_HEADER = { signature: 0x04034b50, length: 30, nameLength: 26, extraLength: 28 };
const DIRECTORY_HEADER = {
  signature: 0x02014b50,
  length: 46,
  method: 10,
  compressedSize: 20,
  uncompressedSize: 24,
  nameLength: 28,
  extraLength: 30,
  commentLength: 32,
  localOffset: 42,
};
const END_RECORD = { signature: 0x06054b50, length: 22, entryCount: 10, directoryOffset: 16 };
const MAX_COMMENT_BYTES = 65_535; // comment after the end record; its length is a 16-bit integer
const [STORED, DEFLATED] = [0, 8]; // compression methods, section 4.4.5

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
    for (const { name, method, compressedSize, uncompressedSize, localOffset } of readDirectory(view, bytes)) {
      if (!filter(name)) continue;
      bytesLeft -= uncompressedSize;
      if (bytesLeft < 0) throw new FileError('too_large', { limit: MAX_BYTES / 1e6 });
      const readLength = (field) => view.getUint16(localOffset + field, true);
      const dataStart = localOffset + LOCAL_HEADER.length + readLength(LOCAL_HEADER.nameLength) + readLength(LOCAL_HEADER.extraLength);
      const dataEnd = dataStart + compressedSize;
      if (view.getUint32(localOffset, true) !== LOCAL_HEADER.signature || dataEnd > bytes.length) throw new FileError('broken');
      files.set(name, await inflate(bytes.subarray(dataStart, dataEnd), method, uncompressedSize));
    }
  } catch (error) {
    throw error instanceof FileError ? error : new FileError('broken'); // truncated or invalid deflate data
  }
  return files;
}

/** Yields the name, compression method, sizes in bytes and local header's offset of each file in the central directory. */
function* readDirectory(view, bytes) {
  const endOffset = findEndRecord(view);
  let offset = view.getUint32(endOffset + END_RECORD.directoryOffset, true);
  for (let count = view.getUint16(endOffset + END_RECORD.entryCount, true); count > 0; count--) {
    if (view.getUint32(offset, true) !== DIRECTORY_HEADER.signature) throw new FileError('broken');
    const read16 = (field) => view.getUint16(offset + field, true);
    const read32 = (field) => view.getUint32(offset + field, true);
    const nameStart = offset + DIRECTORY_HEADER.length;
    const nameEnd = nameStart + read16(DIRECTORY_HEADER.nameLength);
    yield {
      name: new TextDecoder().decode(bytes.subarray(nameStart, nameEnd)),
      method: read16(DIRECTORY_HEADER.method),
      compressedSize: read32(DIRECTORY_HEADER.compressedSize),
      uncompressedSize: read32(DIRECTORY_HEADER.uncompressedSize),
      localOffset: read32(DIRECTORY_HEADER.localOffset),
    };
    offset = nameEnd + read16(DIRECTORY_HEADER.extraLength) + read16(DIRECTORY_HEADER.commentLength);
  }
}

/** Offset of the end record. Searches backwards, because a comment of unknown length may follow the record. */
function findEndRecord(view) {
  const lastOffset = view.byteLength - END_RECORD.length;
  for (let offset = lastOffset; offset >= Math.max(0, lastOffset - MAX_COMMENT_BYTES); offset--)
    if (view.getUint32(offset, true) === END_RECORD.signature) return offset;
  throw new FileError('broken');
}

/** Inflates the data of a file. Throws if the result does not have exactly `uncompressedSize` bytes. */
async function inflate(bytes, method, uncompressedSize) {
  if (method === STORED && bytes.length === uncompressedSize) return bytes;
  if (method !== DEFLATED) throw new FileError('broken');
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader();
  const result = new Uint8Array(uncompressedSize);
  let length = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    if (length + value.length > uncompressedSize) {
      await reader.cancel();
      throw new FileError('broken');
    }
    result.set(value, length);
    length += value.length;
  }
  if (length !== uncompressedSize) throw new FileError('broken');
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
 * Parses a NumPy array (`.npy`) into its shape and its `numbers`, or its `texts` if it is an array of strings.
 * NumPy’s reference describes the format under `numpy.lib.format`.
 * @param {Uint8Array<ArrayBuffer>} bytes
 */
export function parseNpy(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { shape, dtype, dataStart } = parseHeader(view, bytes);
  const count = shape.reduce((product, size) => product * size, 1);
  const [, letter, length] = dtype.match(STRING_DTYPE) ?? [];
  const isText = letter !== undefined;
  const itemSize = isText ? CHARACTER_BYTES[letter] * Number(length) : Number(dtype.slice(2)); // bytes
  if (!isText && !READERS[dtype]) throw new FileError('kind_of_array', { type: dtype });
  if (!shape.every((size) => Number.isSafeInteger(size) && size >= 0)) throw new FileError('broken');
  if (dataStart + count * Math.max(1, itemSize) > bytes.length) throw new FileError('broken');
  if (!isText && count > MAX_WEIGHTS) throw new FileError('too_many', { limit: MAX_WEIGHTS / 1e6 });
  if (isText && count * Math.max(1, Number(length)) > MAX_CHARACTERS) throw new FileError('long_texts', { limit: MAX_CHARACTERS / 1e6 });
  if (!isText) {
    const numbers = new Float32Array(count);
    for (let index = 0; index < count; index++) numbers[index] = READERS[dtype](view, dataStart + index * itemSize);
    return { shape, numbers };
  }
  const readText = letter === 'U' ? readUtf32 : readUtf8;
  return { shape, texts: Array.from({ length: count }, (_, index) => readText(view, dataStart + index * itemSize, Number(length))) };
}

const VERSION_BYTE = 6; // the byte after the magic string
const LENGTH_OFFSET = 8; // of the header's length: two bytes in version 1, four bytes in later versions
const STRING_DTYPE = /^[<|]([US])(\d+)$/; // letter, and length in characters
const CHARACTER_BYTES = { U: 4, S: 1 };

/** Parses the header of an array. `dataStart`: offset of the first item. Throws if the array is in Fortran order. */
function parseHeader(view, bytes) {
  if (bytes.length < LENGTH_OFFSET + 2 || String.fromCharCode(...bytes.subarray(1, 6)) !== 'NUMPY') throw new FileError('broken');
  const isVersion1 = bytes[VERSION_BYTE] <= 1;
  const headerStart = LENGTH_OFFSET + (isVersion1 ? 2 : 4);
  if (bytes.length < headerStart) throw new FileError('broken');
  const headerBytes = isVersion1 ? view.getUint16(LENGTH_OFFSET, true) : view.getUint32(LENGTH_OFFSET, true);
  if (headerBytes > MAX_HEADER_BYTES) throw new FileError('broken');
  const header = new TextDecoder('latin1').decode(bytes.subarray(headerStart, headerStart + headerBytes));
  const [, dtype] = header.match(/'descr':\s*'([^']+)'/) ?? [];
  const [, shapeText] = header.match(/'shape':\s*\(([^)]*)\)/) ?? [];
  if (dtype === undefined || shapeText === undefined || /'fortran_order':\s*True/.test(header))
    throw new FileError('kind_of_array', { type: dtype ?? '?' });
  const sizes = shapeText.split(',').filter((size) => size.trim()); // `(3,)` ends with an empty text
  return { shape: sizes.map(Number), dtype, dataStart: headerStart + header.length };
}

/** Reads a zero-terminated text of at most `length` bytes of UTF-8. */
function readUtf8(view, start, length) {
  const bytes = new Uint8Array(view.buffer, view.byteOffset + start, length);
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
}

/** Reads a zero-terminated text of at most `length` UTF-32 characters. */
function readUtf32(view, start, length) {
  let text = '';
  for (let index = 0; index < length; index++) {
    const code = view.getUint32(start + 4 * index, true);
    if (code === 0) break;
    text += code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
  }
  return text;
}
