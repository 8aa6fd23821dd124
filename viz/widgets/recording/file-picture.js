// The image of a vision model in an attention file: `picture` [height, width, 3], and `patches`: its rows and columns
// of patches, then the patch of each token, or -1 (`model/recordings/files.py`).

import { MAX_TOKENS, flattenLists } from './kind-arrays.js';
import { FileError } from './npz.js';

export const PICTURE_NAMES = ['picture', 'patches'];
const MAX_SIDE_PIXELS = 1_024; // pixels; `view.save` writes at most 224
const BMP_HEADER_BYTES = 54; // file header of 14 bytes and BITMAPINFOHEADER of 40 bytes
const CHUNK_BYTES = 8_192; // fewer than the maximum number of arguments of a function

/** Converts the nested lists of a JSON file to an array. */
export function convertPicture(lists) {
  try {
    return flattenLists(lists, 'self');
  } catch {
    throw new FileError('no_picture');
  }
}

/**
 * Returns the picture in the format of notebooks, with the patch of each token in `places`; null if the file has none.
 * @param {Record<string, any>} values
 * @param {number} tokens number of source tokens
 * @returns {{ image: string, rows: number, columns: number, places: (number | null)[] } | null}
 */
export function parsePicture({ picture, patches }, tokens) {
  if (!picture || !patches) return null;
  const { shape, numbers } = picture;
  const [rows, columns, ...tokenPatches] = patches.numbers;
  const isIntegerBetween = (low, high) => (number) => Number.isInteger(number) && number >= low && number <= high;
  const isImage = shape.length === 3 && shape[2] === 3 && shape.slice(0, 2).every(isIntegerBetween(1, MAX_SIDE_PIXELS));
  const isGrid = [rows, columns].every(isIntegerBetween(1, MAX_TOKENS)) && rows * columns <= MAX_TOKENS;
  if (!isImage || !isGrid || !numbers.every(isIntegerBetween(0, 255)) || !tokenPatches.every(isIntegerBetween(-1, rows * columns - 1)))
    throw new FileError('no_picture');
  if (tokenPatches.length !== tokens) throw new FileError('picture_sizes', { first: tokenPatches.length, second: tokens });
  const image = `data:image/bmp;base64,${encodeBase64(encodeBitmap(picture))}`;
  return { image, rows, columns, places: tokenPatches.map((patch) => (patch < 0 ? null : patch)) };
}

/** Encodes a BMP file: rows from bottom to top, padded to multiples of four bytes, with pixels as blue, green, red. */
function encodeBitmap({ shape: [height, width], numbers }) {
  const rowBytes = Math.ceil((3 * width) / 4) * 4;
  const view = new DataView(new ArrayBuffer(BMP_HEADER_BYTES + rowBytes * height));
  view.setUint16(0, 0x424d); // "BM"
  for (const [offset, value] of [
    [2, view.byteLength],
    [10, BMP_HEADER_BYTES], // offset of the pixels
    [14, BMP_HEADER_BYTES - 14], // length of the second header
    [18, width],
    [22, height],
  ])
    view.setUint32(offset, value, true);
  view.setUint16(26, 1, true); // planes
  view.setUint16(28, 24, true); // bits per pixel
  for (let row = 0; row < height; row++) {
    for (let byte = 0; byte < 3 * width; byte++) {
      const colour = byte - (byte % 3) + 2 - (byte % 3);
      view.setUint8(BMP_HEADER_BYTES + (height - 1 - row) * rowBytes + byte, numbers[row * 3 * width + colour]);
    }
  }
  return new Uint8Array(view.buffer);
}

function encodeBase64(bytes) {
  let letters = '';
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES)
    letters += String.fromCharCode(...bytes.subarray(start, start + CHUNK_BYTES));
  return btoa(letters);
}
