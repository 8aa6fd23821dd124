// Opens the compressed files of a static page (`viz/static_site/compression.py`).

const FIRST_BYTES = [0x78, 0xda]; // of zlib's format at its highest level; no file of the page begins with them

/**
 * The content of a compressed file. A host may have sent the file with `Content-Encoding`; then the browser has decompressed it.
 * Rejects if the file is damaged, as its checksum shows.
 * @param {ArrayBuffer} data
 */
export async function decompress(data) {
  const start = new Uint8Array(data.slice(0, FIRST_BYTES.length));
  if (FIRST_BYTES.some((byte, index) => start[index] !== byte)) return data;
  return new Response(new Blob([data]).stream().pipeThrough(new DecompressionStream('deflate'))).arrayBuffer();
}
