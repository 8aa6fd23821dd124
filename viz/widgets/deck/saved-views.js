// The data of saved views: title, note and URL hash. They are stored in localStorage and shared as a file or a link.

const STORAGE_KEY = 'headlight-deck';
const FORMAT = 'headlight-deck';
export const LIMITS = { views: 40, title: 120, note: 600, hash: 9000 };
const MAX_BYTES = 400_000; // maximum size of all views as text; larger links are rejected

/** @typedef {{ title: string, note: string, hash: string }} View */

const truncate = (text, maxLength) => (typeof text === 'string' ? text.slice(0, maxLength) : '');

/** Validate views. @returns {View[] | null} */
export function validate(values) {
  if (!Array.isArray(values)) return null;
  const isView = (value) =>
    typeof value?.hash === 'string' && /^#(?!(.*&)?deck=)[^#]*$/.test(value.hash) && value.hash.length <= LIMITS.hash;
  const views = values.filter(isView).slice(0, LIMITS.views);
  if (!views.length) return null;
  return views.map(({ title, note, hash }) => ({ title: truncate(title, LIMITS.title), note: truncate(note, LIMITS.note), hash }));
}

/** Read the stored views. */
export function read() {
  try {
    return validate(JSON.parse(localStorage.getItem(STORAGE_KEY) ?? 'null')) ?? [];
  } catch {
    return []; // localStorage is unavailable or its content invalid
  }
}

/** Stores the views. Returns false if localStorage is unavailable. */
export function write(views) {
  try {
    if (views.length) localStorage.setItem(STORAGE_KEY, JSON.stringify(views));
    else localStorage.removeItem(STORAGE_KEY);
    return true;
  } catch {
    return false;
  }
}

/** The views with one of them moved by `step`; unchanged if it would leave the list. */
export function moveItem(views, position, step) {
  const target = position + step;
  if (target < 0 || target >= views.length) return views;
  const others = views.filter((_, index) => index !== position);
  return [...others.slice(0, target), views[position], ...others.slice(target)];
}

// ---------------------------------------------------------------- as a file

export const toFile = (views) => `${JSON.stringify({ format: FORMAT, views }, null, 1)}\n`;

/** Parse the views of a file; null if they are invalid. */
export function fromFile(text) {
  try {
    const { format, views } = JSON.parse(text);
    return format === FORMAT ? validate(views) : null;
  } catch {
    return null;
  }
}

// ---------------------------------------------------------------- as a link

/** Encode views for a link. */
export async function encodeViews(views) {
  const text = new TextEncoder().encode(JSON.stringify(views.map(({ title, note, hash }) => [title, note, hash])));
  const bytes = new Uint8Array(await new Response(pipeBytes(text, new CompressionStream('deflate-raw'))).arrayBuffer());
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return btoa(letters).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Decode the views of a link; null if they are invalid. */
export async function decodeViews(text) {
  try {
    const letters = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const rows = JSON.parse(await limitStream(pipeBytes(bytes, new DecompressionStream('deflate-raw'))));
    return validate(rows.map(([title, note, hash]) => ({ title, note, hash })));
  } catch {
    return null;
  }
}

const pipeBytes = (bytes, stream) => new Blob([bytes]).stream().pipeThrough(stream);

/** Limit the size, because a short link can decompress to any length. */
async function limitStream(stream) {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let [text, size] = ['', 0];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.length;
    if (size > MAX_BYTES) {
      await reader.cancel();
      throw new Error('the views of the link are too long');
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** The encoded deck in a URL hash; empty if it has none. */
export const getDeckInLink = (hash) => new URLSearchParams(hash.slice(1)).get('deck') ?? '';
