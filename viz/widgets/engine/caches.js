// Keys and values of decoded tokens, one cache for each hypothesis and layer.

/** @typedef {{ keys: Float32Array, values: Float32Array, length: number }} Cache keys and values of one sequence, [token, width] */

/** Appends keys and values, [token, width]. Full arrays double in size. */
export function appendToCache(cache, keys, values, width) {
  const length = cache.length + keys.length / width;
  for (const [name, added] of /** @type {const} */ ([
    ['keys', keys],
    ['values', values],
  ])) {
    if (length * width > cache[name].length) {
      const larger = new Float32Array(2 * length * width);
      larger.set(cache[name].subarray(0, cache.length * width));
      cache[name] = larger;
    }
    cache[name].set(added, cache.length * width);
  }
  cache.length = length;
}

/** Copies caches, so that two hypotheses can continue one. @param {Cache[]} caches */
export const copyCaches = (caches) => caches.map(({ keys, values, length }) => ({ keys: keys.slice(), values: values.slice(), length }));
