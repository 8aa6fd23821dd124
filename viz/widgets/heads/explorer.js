// The Heads tab: kinds, wall, one head large, comparison. It gets the numbers once; no click asks the server.

import { icon, make, narrow, replace } from '../core/dom.js';
import { ready } from '../core/page.js';
import { comparing, on, set, shown, state } from '../core/state.js';
import { view } from '../core/view.js';
import { t } from '../core/words.js';
import { mountKinds } from '../parts/kinds.js';
import { mountLegend } from '../parts/legend.js';
import { headName, patternSays } from '../parts/naming.js';
import { quickPlotly } from '../parts/quickplotly.js';
import { mountList, mountReadout } from '../parts/readout.js';
import { mountStrips } from '../parts/strips.js';
import { turnButtons } from '../parts/turning.js';
import { differenceSays } from './comparison.js';
import { listenToKeys, page, togglePin } from './keys.js';
import { Maps, VIEWS } from './maps.js';
import { lightStrips, listenToPointer, placeOf } from './pointing.js';
import { mountTakeAway } from './takeaway.js';
import { mountTools } from './tools.js';
import { mountWall } from './wall.js';

const PIN = ['M5 1.5h5l-.7 5 2.2 2.5h-8l2.2-2.5zM7.5 9v5'];

export async function mount({ element, server }) {
  await ready;
  if (narrow()) set({ fit: false }); // on a phone the whole map of a long sentence would have cells of two pixels
  new Explorer(element, quickPlotly(), server);
}

class Explorer {
  constructor(root, plotly, server) {
    this.root = root;
    this.build(plotly, server);
    listenToPointer(this.head, (event) => this.view && (this.maps.cellAt(event) ?? placeOf(this.view, event.target)));
    listenToKeys({ root, wall: this.wall, head: this.head, viewOf: () => this.view });
    const everything = ['answer', 'kind', 'words', 'special', 'rescale', 'scale', 'palette', 'fit', 'theme', 'language'];
    on(everything, () => this.draw());
    on(['layer', 'head', 'preview', 'pinned', 'view', 'threshold'], (changed) => this.turn(changed));
    on(['row', 'column', 'hoverRow', 'hoverColumn'], () => this.light());
    on(['busy'], () => root.classList.toggle('busy', state.busy));
    on(['tab'], () => state.tab === 'heads' && this.draw());
    new ResizeObserver(() => this.resized()).observe(this.maps.element);
    this.draw();
  }

  build(plotly, server) {
    const div = () => make('div', {});
    const [kinds, wall, list, tools, strips, readout, legend] = Array.from({ length: 7 }, div);
    const note = make('p', {});
    [this.previous, this.next] = turnButtons(page);
    this.title = make('h2', { class: 'numeric' });
    this.announced = make('p', { class: 'hidden-text', 'aria-live': 'polite' }); // chosen heads, not those pointed at
    this.pinText = make('span', {});
    this.pin = make('button', { type: 'button', class: 'pin', onclick: togglePin }, icon(15, PIN, { width: 1.4 }), this.pinText);
    this.views = make('div', { class: 'segments', role: 'group' });
    this.takeAway = mountTakeAway(server);
    this.says = make('p', { class: 'says' });
    this.maps = new Maps(plotly, legend);
    const topline = make('div', { class: 'topline' }, make('div', { class: 'turn' }, this.previous, this.next, this.title), this.pin);
    topline.append(make('div', { class: 'end' }, this.views, this.takeAway.element));
    this.head = make('div', { class: 'head' }, topline, this.announced, this.says, strips, readout, this.maps.element, legend);
    this.root.classList.add('explorer');
    this.root.tabIndex = -1;
    this.root.append(kinds, make('div', { class: 'stage' }, wall, make('div', { class: 'show' }, list, tools, note), this.head));
    this.drawKinds = mountKinds(kinds);
    this.wall = mountWall(wall);
    this.strips = mountStrips(strips);
    this.read = mountReadout(readout);
    this.list = mountList(list);
    this.drawTools = mountTools(tools, note);
    this.drawLegend = mountLegend(legend);
  }

  /** Everything: another sentence, kind, or way of showing. */
  draw() {
    if (!state.answer || state.tab !== 'heads') return;
    this.drawKinds();
    this.wall.draw();
    this.strips.draw();
    this.drawHead();
    this.drawTools(this.view);
  }

  /** Another head. */
  turn(changed) {
    if (!state.answer || state.tab !== 'heads') return;
    if (changed.some((name) => name !== 'preview' && name !== 'threshold')) this.wall.mark();
    this.drawHead();
    if (changed.some((name) => name !== 'preview')) this.drawTools(this.view);
  }

  drawHead() {
    const { answer, kind } = state;
    const { layer, head } = shown();
    this.view = view(answer, kind, layer, head);
    this.other = comparing() ? view(answer, kind, state.pinned.layer, state.pinned.head) : null;
    this.drawTitle(layer, head);
    this.takeAway.draw();
    replace(this.views, ...VIEWS.map((name) => viewButton(name)));
    replace(this.says, ...(this.other ? [differenceSays(this.other, this.view)] : patternSays(answer, kind, layer, head)));
    this.maps.show(this.view, this.other);
    this.drawLegend(this.view, this.other);
    this.light();
  }

  drawTitle(layer, head) {
    this.title.textContent = headName(layer, head);
    const chosen = headName(state.layer, state.head);
    if (this.announced.textContent !== chosen) this.announced.textContent = chosen;
    this.title.classList.toggle('previewed', Boolean(state.preview) && (layer !== state.layer || head !== state.head));
    this.previous.setAttribute('aria-label', t('previous_head'));
    this.next.setAttribute('aria-label', t('next_head'));
    this.pin.setAttribute('aria-pressed', String(Boolean(state.pinned)));
    this.pin.title = this.pinText.textContent = t(state.pinned ? (this.other ? 'unpin' : 'pinned') : 'pin');
  }

  /** What the pointer or a pin lights, in strips, labels, read-out and list at once. */
  light() {
    if (!this.view || state.tab !== 'heads') return;
    const row = state.hoverRow ?? state.row;
    const column = row === null ? (state.hoverColumn ?? state.column) : null;
    lightStrips(this.strips, this.view, row, column);
    this.maps.light();
    this.read(this.view, this.other);
    this.list(this.view);
  }

  resized() {
    if (this.view && state.tab === 'heads' && this.maps.resized()) this.drawHead();
  }
}

function viewButton(name) {
  const pressed = String(state.view === name);
  return make(
    'button',
    { type: 'button', 'aria-pressed': pressed, data: { view: name }, onclick: () => set({ view: name }) },
    t(`view_${name}`),
  );
}
