// Arrays as they travel from the server where every digit counts (viz/service/base64_arrays.py).

/** @typedef {{ shape: number[], numbers: Float32Array }} Tensor */

/** Float32, little-endian, in base64. */
export function decodeArray({ shape, numbers }) {
  const letters = atob(numbers);
  const bytes = new Uint8Array(letters.length);
  for (let place = 0; place < bytes.length; place++) bytes[place] = letters.charCodeAt(place);
  return { shape, numbers: new Float32Array(bytes.buffer) };
}
