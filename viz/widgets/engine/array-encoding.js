// Arrays as `core/base64-arrays.js` decodes them: float32 in base64 with their shape.

const CHUNK = 8192; // bytes that are joined at once

/** Bytes in base64. @param {Uint8Array} bytes */
export function encodeBytes(bytes) {
  let letters = '';
  for (let first = 0; first < bytes.length; first += CHUNK) letters += String.fromCharCode(...bytes.subarray(first, first + CHUNK));
  return btoa(letters);
}

/**
 * @param {number[]} shape
 * @param {ArrayLike<number>} numbers
 */
export const encodeArray = (shape, numbers) => ({ shape, numbers: encodeBytes(new Uint8Array(Float32Array.from(numbers).buffer)) });
