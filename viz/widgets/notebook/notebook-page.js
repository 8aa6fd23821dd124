// A head view in a notebook or on a standalone page. A standalone page contains its data; in a notebook, the widget's model
// provides the data (`widget-host.js`).

import { make } from '../core/dom.js';
import { followTheme } from '../core/theme.js';
import { browserLanguage, setLanguage } from '../core/i18n.js';
import { LEVEL_OF_ONE, Recording, RecordingView, inflate, initialState } from '../recording/recording-view.js';
import { RecordingComparison } from './comparison.js';
import { syncSelection, parseSelection } from './selection-sync.js';
import { followNotebook, findFrame } from './environment.js';

/** @type {any} host of a standalone page: a page without Python exchanges no messages */
const STANDALONE_HOST = {
  getState: () => globalThis.headlightData,
  getSelection: () => globalThis.headlightData.selection,
  getMaps: () => Object.fromEntries(Object.entries(globalThis.headlightData.maps).map(([name, text]) => [name, toBytes(text)])),
  setSelection: () => {},
  onSelectionChange: () => {},
  sendRequest: null,
  onMessage: () => {},
  removeListeners: () => {},
};

/** @param {HTMLElement} root */
export async function open(root) {
  const frame = findFrame();
  const host = /** @type {any} */ (frame)?.headlight?.() ?? STANDALONE_HOST;
  addEventListener('pagehide', host.removeListeners);
  /** @type {any} */ (frame?.previousElementSibling)?.matches('.headlight-still') && frame.previousElementSibling.remove();
  const { views, language, pinned } = host.getState();
  setLanguage(language || browserLanguage());
  followNotebook(frame, root);
  followTheme();
  const maps = host.getMaps();
  const [first] = views;
  // Only a page with a translation has the translation modules.
  if (first.what === 'answer') globalThis.headlightModules['notebook/translation-page.js'].openTranslation(root, first, host);
  else await openRecordings(root, { views, maps, pinned }, host);
  root.dataset.ready = 'yes';
}

async function openRecordings(root, { views, maps, pinned }, host) {
  const recordings = [];
  for (const [index, values] of views.entries()) {
    const numbers = {};
    for (const kind of Object.keys(values.kinds)) {
      const bytes = maps[`${index} ${kind}`];
      if (bytes) numbers[kind] = await inflate(bytes);
    }
    const requestMaps = host.sendRequest && ((request) => requestHeads(host, { ...request, place: index }));
    recordings.push(new Recording(values, numbers, requestMaps));
  }
  const [recording] = recordings;
  const store = initialState(recording);
  store.set({ ...parseSelection(recording, store.state, host.getSelection()), pinned: pinned ?? null });
  const addSection = (name) => root.appendChild(make('section', { class: `headlight ${name}` }));
  const recordingViews = recordings.map((shownRecording, index) => {
    const name =
      recordings.length > 1
        ? `${'AB'[index]}${shownRecording.model.name ? ` · ${shownRecording.model.name}` : ''}`
        : shownRecording.model.name;
    return new RecordingView(addSection('headlight-recorded'), shownRecording, { store, name, handlesKeys: () => index === 0 });
  });
  if (recordings.length > 1) {
    const setComparable = (isComparable) => root.classList.toggle('alike', isComparable);
    new RecordingComparison(addSection('headlight-both'), recordings, store, setComparable);
  }
  host.onMessage(async (message, buffers) => {
    if (message.what !== 'maps') return;
    const numbers = await inflate(bytesIn(buffers[0]));
    const { place, heads } = message;
    recordings[place].receive(message, heads, numbers, LEVEL_OF_ONE);
    recordingViews[place].onMaps(message);
  });
  syncSelection(store, recording, host);
}

const pendingRequests = new Map();

/** Request maps. Requests within one microtask are batched into one message per layer. */
function requestHeads(host, { place, kind, heads, small }) {
  const [{ layer }] = heads;
  const key = `${place} ${kind} ${layer} ${small}`;
  if (!pendingRequests.has(key)) {
    pendingRequests.set(key, []);
    queueMicrotask(() => {
      host.sendRequest({ what: 'maps', place, kind, small, heads: pendingRequests.get(key) });
      pendingRequests.delete(key);
    });
  }
  pendingRequests.get(key).push(...heads);
}

const toBytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const bytesIn = (view) =>
  view instanceof ArrayBuffer ? new Uint8Array(view) : new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
