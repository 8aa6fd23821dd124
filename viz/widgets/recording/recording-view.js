// A head view of any model's attention, for the page and for notebooks: kinds, head wall, map and display options.

import { Recording } from '../core/recording.js';
import { make, isNarrow, replace } from '../core/dom.js';
import { LEVEL_OF_ONE, decodeCodes } from '../core/weight-decoding.js';
import { DEFAULTS, on as onPage, pageStore } from '../core/state.js';
import { VIEW_STATE, createStore } from '../core/store.js';
import { t } from '../core/i18n.js';
import { mount as mountHeadView } from '../headview/head-view.js';
import { mountKeyboard } from '../headview/keyboard.js';
import { mountDisplayOptions } from '../parts/display-options.js';
import { mountPicture } from './picture.js';
import { RecordingSource } from './recording-source.js';

const PARTS = ['kinds', 'wall', 'hints', 'list', 'sums', 'pin', 'viewModes', 'sentence', 'strips', 'legend'];
const PICTURE_FIELDS = ['row', 'column', 'hoverRow', 'hoverColumn', 'preview', 'arrived'];
const BATCH_MS = 80; // milliseconds in which loaded thumbnails are batched before they are drawn

/** Creates the store for a view of a recording. */
export function initialState(recording, changes = {}) {
  const { tab, interventions, ...displayOptions } = DEFAULTS;
  const kind = recording.kinds.includes('cross') ? 'cross' : recording.kinds[0];
  const own = { ...displayOptions, ...VIEW_STATE, kind, layer: 0, head: 0, fit: !isNarrow(), still: false, written: null, lastHeads: {} };
  return createStore({ ...own, translation: recording, arrived: 0, ...changes }, pageStore);
}

export class RecordingView {
  /**
   * `store`: created by `initialState`; `keys()`: whether the view handles keys; `name`: heading of the view.
   * @param {HTMLElement} element
   * @param {Recording} recording
   * @param {{ store: import('../core/store.js').Store, keys?: () => boolean, name?: string }} about
   */
  constructor(element, recording, { store, keys = () => true, name = recording.model.name }) {
    element.classList.add('explorer', 'recorded');
    this.recording = recording;
    this.store = store;
    /** @type {Set<string> | null} loaded thumbnails that are not drawn yet */
    this.fresh = null;
    /** @type {any} */
    this.timer = null;
    this.title = make('h2', { class: 'recorded-name' }, name);
    this.remarks = make('ul', { class: 'remarks' });
    element.append(...(name ? [this.title] : []), this.remarks);
    const maps = new RecordingSource(recording);
    this.view = mountHeadView(element, {
      ...{ store, source: () => maps, parts: PARTS, viewModes: ['matrix', 'lines', 'numbers'], redraws: ['arrived'], heading: 'h3' },
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
    this.leaves = [
      store.on(PICTURE_FIELDS, shadePicture),
      store.on(['kind', 'layer', 'head', 'words', 'special', 'rescale', 'scale', 'palette', 'fit'], draw),
      onPage(['language', 'theme'], draw),
      mountKeyboard(() => (keys() ? this.view : null)),
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
      store.set({ arrived: store.state.arrived + 1 });
      return;
    }
    this.fresh ??= new Set();
    for (const { layer, head } of heads) this.fresh.add(`${kind} ${layer} ${head}`);
    this.timer ??= setTimeout(() => {
      const { fresh } = this;
      [this.timer, this.fresh] = [null, null];
      const now = store.state.kind;
      this.view.grid.paint(this.view.source, now, store.state, ({ layer, head }) => fresh.has(`${now} ${layer} ${head}`));
    }, BATCH_MS);
  }

  destroy() {
    for (const leave of this.leaves) leave();
    this.view.destroy();
  }
}

/** Inflates and decodes the maps of a kind; `LEVEL_OF_ONE` is a weight of one. */
export async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return decodeCodes(new Uint8Array(await new Response(stream).arrayBuffer()));
}

export { LEVEL_OF_ONE, Recording };
