// Encodes frames as an animated GIF with one global colour table: the GIF89a specification of the W3C

const MAX_COLOURS = 256;
const [CLEAR_CODE, END_CODE, FIRST_CODE] = [256, 257, 258]; // LZW codes that follow the colour codes
const MAX_CODES = 4096; // LZW codes; a full dictionary is reset

/**
 * Encodes frames of equal size, {pixels: Uint8ClampedArray of RGBA, delay: milliseconds}. Returns byte arrays for a `Blob`.
 */
export function encodeGif(frames, width, height) {
  const { colours, paletteIndex } = makeColourTable(frames);
  const bytes = [...ascii('GIF89a'), ...uint16(width), ...uint16(height), 0xf7, 0, 0]; // 0xf7: a table of 256 colours
  for (let index = 0; index < MAX_COLOURS; index++) bytes.push(...splitChannels(colours[index] ?? 0));
  bytes.push(0x21, 0xff, 11, ...ascii('NETSCAPE2.0'), 3, 1, 0, 0, 0); // loop forever
  const parts = [Uint8Array.from(bytes)];
  for (const { pixels, delay } of frames) {
    // Graphic control extension with the delay in hundredths of a second, and image descriptor.
    const header = [0x21, 0xf9, 4, 4, ...uint16(Math.round(delay / 10)), 0, 0, 0x2c, 0, 0, 0, 0, ...uint16(width), ...uint16(height), 0, 8];
    parts.push(Uint8Array.from(header), compress(toIndices(pixels, paletteIndex)));
  }
  parts.push(Uint8Array.of(0x3b)); // trailer
  return parts;
}

const ascii = (text) => [...text].map((letter) => letter.charCodeAt(0));
const uint16 = (number) => [number & 255, number >> 8];
const splitChannels = (colour) => [colour >> 16, (colour >> 8) & 255, colour & 255];
const readColour = (pixels, offset) => (pixels[offset] << 16) | (pixels[offset + 1] << 8) | pixels[offset + 2];

/** Table of the most frequent colours of all frames, and a function that returns the index of the nearest one. */
function makeColourTable(frames) {
  const counts = new Map();
  for (const { pixels } of frames) {
    for (let position = 0; position < pixels.length; position += 4) {
      const colour = readColour(pixels, position);
      counts.set(colour, (counts.get(colour) ?? 0) + 1);
    }
  }
  const colours = [...counts].sort((a, b) => b[1] - a[1]).slice(0, MAX_COLOURS);
  const table = colours.map(([colour]) => colour);
  const indexByColour = new Map(table.map((colour, index) => [colour, index]));
  const paletteIndex = (colour) => {
    if (!indexByColour.has(colour)) indexByColour.set(colour, findNearestColour(table, colour));
    return indexByColour.get(colour);
  };
  return { colours: table, paletteIndex };
}

function findNearestColour(table, colour) {
  const [red, green, blue] = splitChannels(colour);
  const distances = table.map((entry) => {
    const [r, g, b] = splitChannels(entry);
    return (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2;
  });
  return distances.indexOf(Math.min(...distances));
}

function toIndices(pixels, paletteIndex) {
  return Uint8Array.from({ length: pixels.length / 4 }, (_, index) => paletteIndex(readColour(pixels, 4 * index)));
}

/** LZW compression with codes of 9 to 12 bits, in blocks of at most 255 bytes, terminated by an empty block. */
function compress(values) {
  const bytes = [];
  let [bits, bitCount, codeSize] = [0, 0, 9];
  const write = (code) => {
    bits |= code << bitCount;
    bitCount += codeSize;
    while (bitCount >= 8) {
      bytes.push(bits & 255);
      bits >>>= 8;
      bitCount -= 8;
    }
  };
  let codes = new Map();
  let nextCode = FIRST_CODE;
  write(CLEAR_CODE);
  let prefix = values[0];
  for (let position = 1; position < values.length; position++) {
    const key = (prefix << 8) | values[position];
    const knownCode = codes.get(key);
    if (knownCode !== undefined) {
      prefix = knownCode;
      continue;
    }
    write(prefix);
    if (nextCode < MAX_CODES) {
      codes.set(key, nextCode);
      if (nextCode === 1 << codeSize) codeSize += 1; // the decoder adds this code one step later
      nextCode += 1;
    } else {
      write(CLEAR_CODE);
      codes = new Map();
      [nextCode, codeSize] = [FIRST_CODE, 9];
    }
    prefix = values[position];
  }
  write(prefix);
  write(END_CODE);
  if (bitCount) bytes.push(bits & 255);
  const blocks = [];
  for (let index = 0; index < bytes.length; index += 255) {
    const block = bytes.slice(index, index + 255);
    blocks.push(block.length, ...block);
  }
  return Uint8Array.from([...blocks, 0]);
}
