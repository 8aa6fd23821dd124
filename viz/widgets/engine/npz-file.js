// Writes NumPy archives: a zip of `.npy` files, compressed as `numpy.savez_compressed` does. `recording/npz.js` reads them.

const [LOCAL, ENTRY, END] = [0x04034b50, 0x02014b50, 0x06054b50]; // signatures of zip records
const [LOCAL_BYTES, ENTRY_BYTES, END_BYTES] = [30, 46, 22];
const VERSION = 20; // of the zip format that a reader needs
const DEFLATED = 8;
const DATE = 0x21; // 1 January 1980, the first one of the format
const HEADER_BLOCK = 64; // bytes: the arrays' numbers begin at a multiple

/**
 * @typedef {{ shape: number[], numbers: Float32Array }} Numbers
 * @typedef {{ shape: number[], texts: string[] }} Texts
 */

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

function computeCrc32(bytes) {
  let value = 0xffffffff;
  for (const byte of bytes) value = CRC_TABLE[(value ^ byte) & 255] ^ (value >>> 8);
  return ~value >>> 0;
}

/** The bytes of texts as UTF-32, each as long as the longest. */
function encodeTexts(texts) {
  const letters = texts.map((text) => Array.from(text, (letter) => letter.codePointAt(0) ?? 0));
  const width = Math.max(1, ...letters.map(({ length }) => length));
  const codes = new Uint32Array(width * texts.length);
  for (const [index, codesOfText] of letters.entries()) codes.set(codesOfText, width * index);
  return { type: `<U${width}`, data: new Uint8Array(codes.buffer) };
}

function encodeNumbers({ buffer, byteOffset, byteLength }) {
  return { type: '<f4', data: new Uint8Array(buffer, byteOffset, byteLength) };
}

/** An array as a `.npy` file. @param {Numbers | Texts} array */
export function encodeNpy(array) {
  const { type, data } = 'texts' in array ? encodeTexts(array.texts) : encodeNumbers(array.numbers);
  const sizes = array.shape.length === 1 ? `${array.shape[0]},` : array.shape.join(', ');
  const header = `{'descr': '${type}', 'fortran_order': False, 'shape': (${sizes}), }`;
  const length = Math.ceil((10 + header.length + 1) / HEADER_BLOCK) * HEADER_BLOCK;
  const file = new Uint8Array(length + data.length);
  file.set([0x93, ...Array.from('NUMPY', (letter) => letter.charCodeAt(0)), 1, 0, (length - 10) & 255, (length - 10) >> 8]);
  file.set(new TextEncoder().encode(`${header.padEnd(length - 11)}\n`), 10);
  file.set(data, length);
  return file;
}

async function deflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** A record of little-endian numbers, each with its size in bytes, and its name. */
function record(size, numbers, name = new Uint8Array(0)) {
  const bytes = new Uint8Array(size + name.length);
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [width, value] of numbers) {
    if (width === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += width;
  }
  bytes.set(name, size);
  return bytes;
}

/** An archive of arrays by name. @param {Record<string, Numbers | Texts>} arrays */
export async function encodeNpz(arrays) {
  const [parts, entries] = [/** @type {Uint8Array[]} */ ([]), /** @type {Uint8Array[]} */ ([])];
  let offset = 0;
  for (const [array, values] of Object.entries(arrays)) {
    const file = encodeNpy(values);
    const packed = await deflate(file);
    const name = new TextEncoder().encode(`${array}.npy`);
    const properties = [
      [2, VERSION],
      [2, 0],
      [2, DEFLATED],
      [2, 0],
      [2, DATE],
      [4, computeCrc32(file)],
      [4, packed.length],
      [4, file.length],
      [2, name.length],
      [2, 0],
    ];
    parts.push(record(LOCAL_BYTES, [[4, LOCAL], ...properties], name), packed);
    entries.push(record(ENTRY_BYTES, [[4, ENTRY], [2, VERSION], ...properties, [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]], name));
    offset += LOCAL_BYTES + name.length + packed.length;
  }
  const size = entries.reduce((sum, { length }) => sum + length, 0);
  const count = entries.length;
  const end = record(END_BYTES, [
    [4, END],
    [2, 0],
    [2, 0],
    [2, count],
    [2, count],
    [4, size],
    [4, offset],
    [2, 0],
  ]);
  return new Uint8Array(await new Blob([...parts, ...entries, end]).arrayBuffer());
}
