// The first script of a static page, in `index.html` itself. Its other scripts and styles are compressed, because a plain file
// server sends files as they are. `headlightStart`, set before this code, has their paths and the sentences for faults.

import { decompress } from '../core/decompress.js';

const { files, sentences } = globalThis.headlightStart;

/** @param {string} sentence @param {string} file */
const fault = (sentence, file = '') => Object.assign(new Error(file), { sentence });

/** Loads a file by name. Returns the URL of its content, which is valid as long as the page is open. */
async function openFile(name) {
  const file = files[name];
  const response = await fetch(new URL(file, document.baseURI)).catch(() => null);
  const data = response?.ok && (await response.arrayBuffer().catch(() => null));
  if (!data) throw fault('missing', file);
  try {
    const type = name.endsWith('.css') ? 'text/css' : 'text/javascript';
    return URL.createObjectURL(new Blob([await decompress(data)], { type }));
  } catch {
    throw fault('damaged', file);
  }
}

/** Adds an element and waits until its file has run or failed. */
const add = (tag, attributes) =>
  new Promise((resolve) => {
    const element = document.createElement(tag);
    document.head.append(Object.assign(element, attributes, { onload: resolve, onerror: resolve }));
  });

/** Resolves when the elements and the data are there. */
const parsed = new Promise((resolve) => {
  if (document.readyState === 'loading') addEventListener('DOMContentLoaded', resolve);
  else resolve(null);
});

async function openPage() {
  if (location.protocol === 'file:') throw fault('no_server');
  if (!globalThis.DecompressionStream) throw fault('old_browser');
  const styled = openFile('page.css').then((href) => add('link', { rel: 'stylesheet', href }));
  const [src] = await Promise.all([openFile('headlight.js'), styled, parsed]);
  await add('script', { type: 'module', src });
  if (!globalThis.headlightModules) throw fault('damaged', files['headlight.js']); // something else than the script
}

/** Shows a sentence in the browser's language instead of the page, without its styles. */
async function showFault({ sentence, message }) {
  await parsed;
  const language = navigator.languages.map((tag) => tag.slice(0, 2)).find((code) => code in sentences);
  const paragraph = document.createElement('p');
  paragraph.setAttribute('role', 'alert');
  paragraph.style.font = '1.1em/1.5 sans-serif';
  paragraph.textContent = sentences[language ?? 'en'][sentence].replace('{file}', message);
  document.body.prepend(paragraph);
}

globalThis.openHeadlightFile = openFile;
openPage().catch(showFault);
