// Decodes arrays that the server sends with full precision (`model/checkpoints/base64_arrays.py`).

/** @typedef {{ shape: number[], numbers: Float32Array }} Tensor */

/** Decodes little-endian float32 numbers from base64. */
export function decodeArray({ shape, numbers }) {
  const letters = atob(numbers);
  const bytes = new Uint8Array(letters.length);
  for (let index = 0; index < bytes.length; index++) bytes[index] = letters.charCodeAt(index);
  return { shape, numbers: new Float32Array(bytes.buffer) };
}
