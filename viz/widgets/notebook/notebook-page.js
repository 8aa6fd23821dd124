// A head view in a notebook or on a standalone page. A standalone page contains its data; in a notebook, the widget's model
// provides the data (`widget-host.js`).

import { make } from '../core/dom.js';
import { followTheme } from '../core/theme.js';
import { browserLanguage, setLanguage } from '../core/i18n.js';
import { MAX_LEVEL, Recording, RecordingView, inflateMaps, createViewStore } from '../recording/recording-view.js';
import { RecordingComparison } from './comparison.js';
import { syncSelection, parseSelection } from './selection-sync.js';
import { followNotebook, findFrame } from './environment.js';

/** @type {any} host of a standalone page: a page without Python exchanges no messages */
const STANDALONE_HOST = {
  getState: () => globalThis.headlightData,
  getSelection: () => globalThis.headlightData.selection,
  getMaps: () => Object.fromEntries(Object.entries(globalThis.headlightData.maps).map(([name, text]) => [name, decodeBase64(text)])),
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
  const picture = frame?.previousElementSibling; // static picture of the view, for notebooks that run no scripts
  if (picture?.matches('.headlight-still')) picture.remove();
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
    const levels = {};
    for (const kind of Object.keys(values.kinds)) {
      const bytes = maps[`${index} ${kind}`];
      if (bytes) levels[kind] = await inflateMaps(bytes);
    }
    const requestMaps = host.sendRequest && ((request) => requestHeads(host, { ...request, viewIndex: index }));
    recordings.push(new Recording(values, levels, requestMaps));
  }
  const [recording] = recordings;
  const store = createViewStore(recording);
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
    const levels = await inflateMaps(asUint8Array(buffers[0]));
    const { place: viewIndex, heads } = message;
    recordings[viewIndex].receive(message, heads, levels, MAX_LEVEL);
    recordingViews[viewIndex].onMaps(message);
  });
  syncSelection(store, recording, host);
}

/** @type {Map<string, any[]>} heads by view, kind, layer and size */
const pendingHeads = new Map();

/** Batches the requests of one task into a message per view, kind, layer and size. All `heads` belong to one layer. */
function requestHeads(host, { viewIndex, kind, heads, small }) {
  const [{ layer }] = heads;
  const key = `${viewIndex} ${kind} ${layer} ${small}`;
  if (!pendingHeads.has(key)) {
    pendingHeads.set(key, []);
    queueMicrotask(() => {
      host.sendRequest({ what: 'maps', place: viewIndex, kind, small, heads: pendingHeads.get(key) });
      pendingHeads.delete(key);
    });
  }
  pendingHeads.get(key).push(...heads);
}

const decodeBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const asUint8Array = (buffer) =>
  buffer instanceof ArrayBuffer ? new Uint8Array(buffer) : new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
