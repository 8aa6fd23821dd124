// The search tree as it is drawn: the figure, the chosen node's ring and path on it, and the keys that walk through it.

import { fadeEdges, make, replace, touch } from '../core/dom.js';
import { t } from '../core/words.js';

const QUIET = { displayModeBar: false, responsive: false };
const STRETCH = 1.5; // of the tree, where there is room
const EDGE = 64; // pixels at either side in which the chosen node is not in sight

export class DrawnTree {
  /** `choose(node)`: another node is wanted. `open(node)`: its path is, as a translation. */
  constructor({ choose, open }) {
    this.choose = choose;
    this.open = open;
    this.element = make('div', { class: 'tree', tabindex: 0, role: 'application' });
    this.element.addEventListener('keydown', (event) => this.key(event));
    this.fade = fadeEdges(this.element);
    this.keys = make('p', { class: 'tree-keys' });
  }

  /** What is known of a search: its `tree`, its `best` node if any finished. `opens`: whether a path can be opened. */
  name(search, opens) {
    this.search = search;
    this.opens = opens;
    const { nodes, steps } = search.tree;
    this.element.setAttribute('aria-label', t('decoding_tree', { nodes: nodes.length, steps: steps.length }));
    const key = (letters, says) => make('span', {}, make('kbd', {}, letters.join(' ')), ` ${t(says)}`);
    const open = opens ? key(['Enter'], 'decoding_key_open') : null;
    replace(this.keys, key(['←', '→'], 'decoding_key_path'), key(['↑', '↓'], 'decoding_key_step'), open);
    this.keys.hidden = touch();
  }

  /** The figure as it came, with an empty path and ring. */
  async draw(plotly, { data, layout }) {
    this.plotly = plotly;
    this.places = new Map();
    for (const trace of data) trace.customdata?.forEach((node, place) => this.places.set(node, [trace.x[place], trace.y[place]]));
    const ink = getComputedStyle(this.element).getPropertyValue('--ink').trim();
    const mark = { x: [], y: [], hoverinfo: 'skip', showlegend: false };
    const path = { ...mark, mode: 'lines', line: { color: ink, width: 2 } };
    const ring = {
      ...mark,
      mode: 'markers',
      marker: { symbol: 'circle-open', size: 11, color: ink, line: { width: 2 } },
      cliponaxis: false,
    };
    const width = Math.max(layout.width, Math.min(this.element.clientWidth, layout.width * STRETCH));
    const lines = data.filter((trace) => trace.mode === 'lines');
    const nodes = data.filter((trace) => trace.mode !== 'lines');
    this.marks = [lines.length, data.length + 1]; // the path runs below the words, the ring stands above all
    await plotly.react(this.element, [...lines, path, ...nodes, ring], { ...layout, width }, QUIET);
    this.fade();
    if (!this.listening)
      this.element.on('plotly_click', ({ points: [node] }) => node?.customdata !== undefined && this.choose(node.customdata));
    this.listening = true;
  }

  /** No search: nothing is drawn. */
  clear(plotly) {
    plotly.purge(this.element);
    this.search = null;
    this.listening = false; // its listeners are gone, too
  }

  /** The chosen node's ring and its path; it comes in sight, without moving the page. */
  mark(node) {
    this.node = node;
    const path = this.search.tree.path(node).map((each) => this.places.get(each));
    const last = path.at(-1);
    const [x, y] = [0, 1].map((axis) => path.map((place) => place[axis]));
    this.plotly.restyle(this.element, { x: [x, [last[0]]], y: [y, [last[1]]] }, this.marks);
    this.reveal(last[0]);
  }

  reveal(step) {
    const axis = this.element._fullLayout?.xaxis;
    if (!axis) return;
    const at = axis._offset + axis.d2p(step);
    const { scrollLeft, clientWidth } = this.element;
    if (at < scrollLeft + EDGE || at > scrollLeft + clientWidth - EDGE) this.element.scrollLeft = at - clientWidth / 2;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.search || this.node === undefined) return;
    const { node } = this;
    const { tree, best } = this.search;
    const go = {
      ArrowLeft: () => tree.parent(node),
      ArrowRight: () => tree.child(node, best),
      ArrowUp: () => tree.beside(node, -1),
      ArrowDown: () => tree.beside(node, 1),
      Home: () => tree.path(node)[0],
      End: () => best,
    }[event.key];
    if (event.key === 'Enter' && this.opens) this.open(node);
    else if (go) this.choose(go() ?? node);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
