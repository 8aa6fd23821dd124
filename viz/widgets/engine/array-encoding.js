// Arrays as `core/base64-arrays.js` decodes them: float32 in base64 with their shape.

const CHUNK = 8192; // bytes that are joined at once

/**
 * @param {number[]} shape
 * @param {ArrayLike<number>} numbers
 */
export function encodeArray(shape, numbers) {
  const bytes = new Uint8Array(Float32Array.from(numbers).buffer);
  let letters = '';
  for (let first = 0; first < bytes.length; first += CHUNK) letters += String.fromCharCode(...bytes.subarray(first, first + CHUNK));
  return { shape, numbers: btoa(letters) };
}
