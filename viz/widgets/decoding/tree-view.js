// View of the search tree: one box per node, coloured by the probability of its token, lines between boxes, and
// keyboard navigation.

import { make, replace, svg, isTouch } from '../core/dom.js';
import { state } from '../core/state.js';
import { cssColour, textColourOn, scaleColour } from '../core/theme.js';
import { twoDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { makeColourRamp } from '../parts/legend.js';
import { hasLateNodes, layout, linePath, probabilities, visibleNodes } from './tree-layout.js';

const MIN_HORIZONTAL_WIDTH = 700; // pixels below which the tree grows downward

export class TreeView {
  /**
   * Callbacks: `choose(node)` selects a node, `open(node)` opens its path as a translation, `onHover(node)` is called
   * with the hovered node or null.
   */
  constructor({ choose, open, onHover }) {
    this.choose = choose;
    this.open = open;
    this.lines = svg('svg', { 'aria-hidden': 'true' });
    this.boxes = make('div', { class: 'boxes' });
    this.element = make('div', { class: 'tree', tabindex: 0, role: 'application' }, this.lines, this.boxes);
    this.element.addEventListener('keydown', (event) => this.onKeydown(event));
    const nodeAt = (event) => {
      const box = event.target.closest?.('[data-node]');
      return box ? Number(box.dataset.node) : null;
    };
    this.element.addEventListener('click', (event) => nodeAt(event) !== null && choose(nodeAt(event)));
    this.element.addEventListener('pointerover', (event) => onHover(nodeAt(event)));
    this.element.addEventListener('pointerleave', () => onHover(null));
    this.dropped = this.choice('decoding_show_dropped', false);
    this.late = this.choice('decoding_hide_late', false);
    this.legend = make('p', { class: 'tree-legend quiet' });
    this.keys = make('p', { class: 'tree-keys' });
    this.visibleSteps = Infinity; // all steps
    this.highlighted = null;
    new ResizeObserver(() => this.element.clientWidth !== this.width && this.draw()).observe(this.element);
  }

  choice(name, checked) {
    const box = make('input', { type: 'checkbox', checked });
    const caption = make('span', {});
    box.addEventListener('change', () => this.draw());
    return { box, caption, name, element: make('label', { class: 'choice' }, box, caption) };
  }

  get choices() {
    return [this.dropped.element, this.late.element];
  }

  /** Shows a search: its `tree`, and its `best` node if one has finished. `canOpen`: whether paths can be opened. */
  show(search, canOpen) {
    this.search = search;
    this.canOpen = canOpen;
    this.node = undefined;
    this.probabilities = probabilities(search.tree);
    const { nodes, steps } = search.tree;
    this.element.setAttribute('aria-label', t('decoding_tree', { nodes: nodes.length, steps: steps.length }));
    for (const { caption, name } of [this.dropped, this.late]) caption.textContent = t(name);
    this.late.element.hidden = !hasLateNodes(search);
    const key = (letters, caption) => make('span', {}, make('kbd', {}, letters.join(' ')), ` ${t(caption)}`);
    const openKey = canOpen ? key(['Enter'], 'decoding_key_open') : null;
    replace(this.keys, key(['←', '→'], 'decoding_key_path'), key(['↑', '↓'], 'decoding_key_step'), openKey);
    this.keys.hidden = isTouch();
    const winnerKey = make('span', {}, make('i', { class: 'winner' }), t('decoding_legend_winner'));
    const legend = make('span', {}, make('i', { class: 'ended' }), t('decoding_legend_finished'));
    replace(this.legend, makeColourRamp(state.palette, '0', '1'), make('span', {}, t('decoding_legend')), legend, winnerKey);
  }

  clear() {
    this.search = null;
    replace(this.boxes);
    replace(this.lines);
  }

  /** Shows only the first `steps` steps of the search. */
  showSteps(steps) {
    this.visibleSteps = steps;
    this.draw();
  }

  mark(node) {
    this.node = node;
    this.draw();
  }

  /** Highlights the node that is hovered in the tree or in another part of the tab. */
  highlight(node) {
    this.highlighted = node;
    for (const box of this.boxes.children) box.classList.toggle('lit', Number(/** @type {any} */ (box).dataset.node) === node);
  }

  // ---------------------------------------------------------------- drawing

  draw() {
    if (!this.search || !this.element.clientWidth) return;
    const { tree, best } = this.search;
    this.width = this.element.clientWidth;
    const down = this.width < MIN_HORIZONTAL_WIDTH;
    const current = visibleNodes(this.search, { dropped: this.dropped.box.checked, late: !this.late.box.checked, selectedNode: this.node });
    const treeLayout = layout(tree, current, this.width, down);
    const winningPath = new Set(best === undefined ? [] : tree.path(best));
    const selectedPath = new Set(this.node === undefined ? [] : tree.path(this.node));
    const visible = current.filter((node) => tree.nodes[node].step < this.visibleSteps);
    const context = (node) => ({ node, treeLayout, down, isWinner: winningPath.has(node), isOnSelectedPath: selectedPath.has(node) });
    Object.assign(this.element.style, { height: `${treeLayout.height}px` });
    for (const [name, value] of Object.entries({ width: this.width, height: treeLayout.height }))
      this.lines.setAttribute(name, String(value));
    const order = [...visible].sort(
      (a, b) => this.drawingOrder(a, winningPath, selectedPath) - this.drawingOrder(b, winningPath, selectedPath),
    );
    replace(this.lines, ...order.map((node) => this.line(context(node))));
    replace(this.boxes, ...visible.map((node) => this.box(context(node))));
    this.highlight(this.highlighted);
  }

  /** Drawing order of lines: the winning and the selected path are drawn last, over the others. */
  drawingOrder(node, winningPath, selectedPath) {
    return (
      Number(this.search.tree.nodes[node].outcome !== 'dropped') + 2 * Number(winningPath.has(node)) + 4 * Number(selectedPath.has(node))
    );
  }

  line({ node, treeLayout, down, isWinner, isOnSelectedPath }) {
    const { parent, outcome } = this.search.tree.nodes[node];
    const kind = isOnSelectedPath ? 'chosen' : isWinner ? 'winner' : outcome;
    return svg('path', {
      d: linePath(treeLayout.boxPositions.get(parent), treeLayout.boxPositions.get(node), treeLayout.box, down),
      class: kind,
    });
  }

  box({ node, treeLayout, isWinner, isOnSelectedPath }) {
    const { label, outcome, text } = this.search.tree.nodes[node];
    const { x, y } = treeLayout.boxPositions.get(node);
    const probability = this.probabilities[node];
    const colour = scaleColour(state.palette, probability);
    const style = `left:${x}px;top:${y}px;width:${treeLayout.box.width}px;height:${treeLayout.box.height}px`;
    const classes = ['node', outcome, isWinner && 'winner', isOnSelectedPath && 'path', node === this.node && 'chosen'];
    const attributes = {
      class: classes.filter(Boolean).join(' '),
      style: `${style};background:${cssColour(colour)};color:${textColourOn(colour)}`,
    };
    const name = treeLayout.showsTokens ? make('bdi', {}, label) : null;
    const number = treeLayout.showsProbabilities ? make('span', { class: 'numeric' }, twoDecimals(probability).replace(/^0/, '')) : null;
    return make('div', { ...attributes, title: text, data: { node } }, name, number);
  }

  // ---------------------------------------------------------------- keys

  onKeydown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.search || this.node === undefined) return;
    const { node } = this;
    const { tree, best } = this.search;
    const getTarget = {
      ArrowLeft: () => tree.parent(node),
      ArrowRight: () => tree.child(node, best),
      ArrowUp: () => tree.sibling(node, -1),
      ArrowDown: () => tree.sibling(node, 1),
      Home: () => tree.path(node)[0],
      End: () => best,
    }[event.key];
    if (event.key === 'Enter' && this.canOpen) this.open(node);
    else if (getTarget) this.choose(getTarget() ?? node);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
