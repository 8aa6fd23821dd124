// Decodes attention weights from characters. `viz/service/weight_encoding.py` has the same table and the reasons.

export const LEVELS = 20000; // finest quantisation cells of width 5e-5
export const MAX_LEVEL = 2 * LEVELS; // level of the weight 1; twice the number of cells, so that the centres of cells are integers, too
const TWO_BYTE_RANGE = [0x100, 0x800]; // first two-byte character that is used, and end of the range
const THREE_BYTES = 0x4e00; // the first three-byte character

/** @type {Uint16Array | undefined} by character code */
let centresByCode;

/** The centre of each character's cell, in the order of characters; zero and one are exact. */
function computeCentres() {
  const levels = [];
  let first = 0;
  for (let cell = 0; cell <= LEVELS; cell++) {
    if (isFirst(cell)) {
      levels.push(0);
      first = cell;
    }
    levels[levels.length - 1] = first + cell + 1; // centre of the finest cells from `first` to this one
  }
  levels[0] = 0;
  levels[levels.length - 1] = MAX_LEVEL;
  return levels;
}

/** Table from character code to the centre of its cell. */
function getCentresByCode() {
  if (centresByCode) return centresByCode;
  centresByCode = new Uint16Array(1 << 16);
  const centres = computeCentres();
  for (const [index, code] of characterCodes(centres.length).entries()) centresByCode[code] = centres[index];
  return centresByCode;
}

/** The first `count` characters, in the order of their cells. */
export function characterCodes(count) {
  const codes = [];
  for (let code = 0x21; code < 0x7f; code++) if (!'"&\'<>\\'.includes(String.fromCharCode(code))) codes.push(code);
  for (let code = TWO_BYTE_RANGE[0]; code < TWO_BYTE_RANGE[1]; code++) codes.push(code);
  return Array.from({ length: count }, (_, index) => codes[index] ?? THREE_BYTES + index - codes.length);
}

/** Whether a character's cell begins at this finest cell. It does if rounding to one to four decimals changes there. */
export function isFirst(cell) {
  const fourth = (cell + 1) >> 1;
  const boundary = [1, 10, 100].some((unit) => fourth % (10 * unit) === 5 * unit);
  return cell % 2 === 1 || boundary || cell === 0 || cell === LEVELS;
}

/**
 * Decodes weights to integers, in units of 1 / `MAX_LEVEL`.
 * @param {string} letters
 */
export function decodeWeights(letters) {
  const values = getCentresByCode();
  const numbers = new Uint16Array(letters.length);
  for (let index = 0; index < numbers.length; index++) numbers[index] = values[letters.charCodeAt(index)];
  return numbers;
}

/**
 * Decodes causal maps, which are sent without the cells above the diagonal.
 * @param {string} letters
 * @param {number[]} shape [..., rows, columns]
 */
export function decodeCausalWeights(letters, shape) {
  const values = getCentresByCode();
  const [rows, columns] = shape.slice(-2);
  const numbers = new Uint16Array(shape.reduce((all, size) => all * size, 1));
  let letterIndex = 0;
  for (let map = 0; map < numbers.length; map += rows * columns) {
    for (let row = 0; row < rows; row++) {
      const start = map + row * columns;
      const end = start + Math.min(row + 1, columns);
      for (let index = start; index < end; index++) numbers[index] = values[letters.charCodeAt(letterIndex++)];
    }
  }
  return numbers;
}

/**
 * Decodes weights from the indices of their characters. All low bytes precede all high bytes, which compresses better.
 * @param {Uint8Array} bytes
 */
export function decodeCodes(bytes) {
  const count = bytes.length / 2;
  const values = computeCentres();
  const numbers = new Uint16Array(count);
  for (let index = 0; index < count; index++) numbers[index] = values[bytes[index] + 256 * bytes[count + index]];
  return numbers;
}

/** Quantises a weight to the centre of its finest cell. */
export const toLevel = (weight) => {
  const cell = Math.floor(weight * LEVELS);
  return cell <= 0 ? 0 : cell >= LEVELS ? MAX_LEVEL : 2 * cell + 1;
};
