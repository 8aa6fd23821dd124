// A head view of any model's attention, for the page and for notebooks: kinds, head wall, map and display options.

import { Recording } from '../core/recording.js';
import { make, isNarrow, replace } from '../core/dom.js';
import { MAX_LEVEL, decodeCodes } from '../core/weight-decoding.js';
import { DEFAULTS, on as onPage, pageStore } from '../core/state.js';
import { VIEW_STATE, createStore } from '../core/store.js';
import { t } from '../core/i18n.js';
import { mount as mountHeadView } from '../headview/head-view.js';
import { mountKeyboard } from '../headview/keyboard.js';
import { mountDisplayOptions } from '../parts/display-options.js';
import { mountPicture } from './picture.js';
import { RecordingSource } from './recording-source.js';

const PARTS = ['kinds', 'wall', 'hints', 'list', 'sums', 'pin', 'viewModes', 'sentence', 'strips', 'legend'];
const PICTURE_FIELDS = ['row', 'column', 'hoverRow', 'hoverColumn', 'preview', 'loadedMaps'];
const BATCH_MS = 80; // milliseconds during which loaded thumbnails are collected before they are drawn

/** Creates the store for a view of a recording. */
export function createViewStore(recording, changes = {}) {
  const { tab, interventions, ...displayOptions } = DEFAULTS;
  const kind = recording.kinds.includes('cross') ? 'cross' : recording.kinds[0];
  const fields = {
    ...displayOptions,
    ...VIEW_STATE,
    kind,
    layer: 0,
    head: 0,
    fit: !isNarrow(),
    still: false,
    written: null,
    lastHeads: {},
  };
  return createStore({ ...fields, translation: recording, loadedMaps: 0, ...changes }, pageStore);
}

export class RecordingView {
  /**
   * `store`: created by `createViewStore`; `handlesKeys()`: whether the view handles keys now; `name`: heading of the view.
   * @param {HTMLElement} element
   * @param {Recording} recording
   * @param {{ store: import('../core/store.js').Store, handlesKeys?: () => boolean, name?: string }} options
   */
  constructor(element, recording, { store, handlesKeys = () => true, name = recording.model.name }) {
    element.classList.add('explorer', 'recorded');
    this.recording = recording;
    this.store = store;
    /** @type {Set<string> | null} loaded thumbnails that are not drawn yet */
    this.undrawnThumbnails = null;
    /** @type {any} */
    this.timer = null;
    this.title = make('h2', { class: 'recorded-name' }, name);
    this.remarks = make('ul', { class: 'remarks' });
    element.append(...(name ? [this.title] : []), this.remarks);
    const maps = new RecordingSource(recording);
    this.view = mountHeadView(element, {
      ...{ store, source: () => maps, parts: PARTS, viewModes: ['matrix', 'lines', 'numbers'], redraws: ['loadedMaps'], heading: 'h3' },
    });
    const [tools, note] = [make('div', {}), make('p', {})];
    const drawTools = mountDisplayOptions(tools, note, store);
    this.view.show.append(tools, note, this.view.hints);
    const shadePicture = recording.picture ? mountPicture(this.view, recording) : () => {};
    const draw = () => {
      drawTools(this.view.view);
      this.drawRemarks();
      shadePicture();
    };
    this.subscriptions = [
      store.on(PICTURE_FIELDS, shadePicture),
      store.on(['kind', 'layer', 'head', 'words', 'special', 'rescale', 'scale', 'palette', 'fit'], draw),
      onPage(['language', 'theme'], draw),
      mountKeyboard(() => (handlesKeys() ? this.view : null)),
    ];
    draw();
  }

  drawRemarks() {
    const items = this.recording.remarks.map(([word, values]) => {
      const kind = values.kind ? { kind: t(`kind_${values.kind}`) } : {};
      return make('li', {}, t(`remark_${word}`, { ...values, ...kind }));
    });
    replace(this.remarks, ...items);
    this.remarks.hidden = !items.length;
  }

  /** Draws loaded maps: full maps immediately, thumbnails in batches. */
  onMaps({ kind, small, heads }) {
    const { store } = this;
    if (!small) {
      store.set({ loadedMaps: store.state.loadedMaps + 1 });
      return;
    }
    this.undrawnThumbnails ??= new Set();
    for (const { layer, head } of heads) this.undrawnThumbnails.add(`${kind} ${layer} ${head}`);
    this.timer ??= setTimeout(() => {
      const { undrawnThumbnails } = this;
      [this.timer, this.undrawnThumbnails] = [null, null];
      const shownKind = store.state.kind;
      this.view.grid.paint(this.view.source, shownKind, store.state, ({ layer, head }) =>
        undrawnThumbnails.has(`${shownKind} ${layer} ${head}`),
      );
    }, BATCH_MS);
  }

  destroy() {
    for (const unsubscribe of this.subscriptions) unsubscribe();
    this.view.destroy();
  }
}

/** Inflates and decodes the maps of a kind to integer weights, in units of 1 / `MAX_LEVEL`. */
export async function inflateMaps(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return decodeCodes(new Uint8Array(await new Response(stream).arrayBuffer()));
}

export { MAX_LEVEL, Recording };
