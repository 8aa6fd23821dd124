// View of the search tree: one box per node, coloured by the probability of its token, lines between boxes, and
// keyboard navigation.

import { make, replace, svg, isTouch } from '../core/dom.js';
import { state } from '../core/state.js';
import { cssColour, textColourOn, scaleColour } from '../core/theme.js';
import { twoDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { makeColourRamp } from '../parts/legend.js';
import { computeLayout, hasLateNodes, linePath, listVisibleNodes, tokenProbabilities } from './tree-layout.js';

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
    this.droppedOption = this.makeOption('decoding_show_dropped');
    this.lateOption = this.makeOption('decoding_hide_late');
    this.legend = make('p', { class: 'tree-legend quiet' });
    this.keyHints = make('p', { class: 'tree-keys' });
    this.visibleSteps = Infinity; // number of steps that are shown
    this.highlightedNode = null;
    new ResizeObserver(() => this.element.clientWidth !== this.width && this.draw()).observe(this.element);
  }

  /** A checkbox {checkbox, caption, phrase, element} that redraws the tree. */
  makeOption(phrase) {
    const checkbox = make('input', { type: 'checkbox' });
    const caption = make('span', {});
    checkbox.addEventListener('change', () => this.draw());
    return { checkbox, caption, phrase, element: make('label', { class: 'choice' }, checkbox, caption) };
  }

  /** Elements of the display options. */
  get options() {
    return [this.droppedOption.element, this.lateOption.element];
  }

  /** Shows a search: its `tree`, and its `best` node if one has finished. `canOpen`: whether paths can be opened. */
  show(search, canOpen) {
    this.search = search;
    this.canOpen = canOpen;
    this.node = undefined;
    this.probabilities = tokenProbabilities(search.tree);
    const { nodes, steps } = search.tree;
    this.element.setAttribute('aria-label', t('decoding_tree', { nodes: nodes.length, steps: steps.length }));
    for (const { caption, phrase } of [this.droppedOption, this.lateOption]) caption.textContent = t(phrase);
    this.lateOption.element.hidden = !hasLateNodes(search);
    const keyHint = (keys, phrase) => make('span', {}, make('kbd', {}, keys.join(' ')), ` ${t(phrase)}`);
    const openHint = canOpen ? keyHint(['Enter'], 'decoding_key_open') : null;
    replace(this.keyHints, keyHint(['←', '→'], 'decoding_key_path'), keyHint(['↑', '↓'], 'decoding_key_step'), openHint);
    this.keyHints.hidden = isTouch();
    const winnerEntry = make('span', {}, make('i', { class: 'winner' }), t('decoding_legend_winner'));
    const finishedEntry = make('span', {}, make('i', { class: 'ended' }), t('decoding_legend_finished'));
    replace(this.legend, makeColourRamp(state.palette, '0', '1'), make('span', {}, t('decoding_legend')), finishedEntry, winnerEntry);
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

  /** Selects a node, which is drawn with its path. */
  select(node) {
    this.node = node;
    this.draw();
  }

  /** Highlights the node that is hovered in the tree or in another part of the tab. */
  highlight(node) {
    this.highlightedNode = node;
    for (const box of this.boxes.children) box.classList.toggle('lit', Number(/** @type {any} */ (box).dataset.node) === node);
  }

  // ---------------------------------------------------------------- drawing

  draw() {
    if (!this.search || !this.element.clientWidth) return;
    const { tree, best } = this.search;
    this.width = this.element.clientWidth;
    const growsDown = this.width < MIN_HORIZONTAL_WIDTH;
    const [showsDropped, showsLate] = [this.droppedOption.checkbox.checked, !this.lateOption.checkbox.checked];
    const candidates = listVisibleNodes(this.search, { showsDropped, showsLate, selectedNode: this.node });
    const layout = computeLayout(tree, candidates, this.width, growsDown); // the layout stays the same at every step
    const winningPath = new Set(best === undefined ? [] : tree.path(best));
    const selectedPath = new Set(this.node === undefined ? [] : tree.path(this.node));
    const visible = candidates.filter((node) => tree.nodes[node].step < this.visibleSteps);
    const style = (node) => ({ layout, growsDown, isWinner: winningPath.has(node), isOnSelectedPath: selectedPath.has(node) });
    Object.assign(this.element.style, { height: `${layout.height}px` });
    for (const [name, value] of Object.entries({ width: this.width, height: layout.height })) this.lines.setAttribute(name, String(value));
    const zIndex = (node) => this.lineZIndex(node, winningPath, selectedPath);
    const sortedNodes = [...visible].sort((a, b) => zIndex(a) - zIndex(b));
    replace(this.lines, ...sortedNodes.map((node) => this.makeLine(node, style(node))));
    replace(this.boxes, ...visible.map((node) => this.makeBox(node, style(node))));
    this.highlight(this.highlightedNode);
  }

  /** Rank of a line in drawing order: lines of the winning and the selected path are drawn last, over the others. */
  lineZIndex(node, winningPath, selectedPath) {
    return (
      Number(this.search.tree.nodes[node].outcome !== 'dropped') + 2 * Number(winningPath.has(node)) + 4 * Number(selectedPath.has(node))
    );
  }

  /** The line from a node's parent to the node. */
  makeLine(node, { layout, growsDown, isWinner, isOnSelectedPath }) {
    const { parent, outcome } = this.search.tree.nodes[node];
    return svg('path', {
      d: linePath(layout.boxPositions.get(parent), layout.boxPositions.get(node), layout.box, growsDown),
      class: isOnSelectedPath ? 'chosen' : isWinner ? 'winner' : outcome,
    });
  }

  makeBox(node, { layout, isWinner, isOnSelectedPath }) {
    const { label, outcome, text } = this.search.tree.nodes[node];
    const { x, y } = layout.boxPositions.get(node);
    const probability = this.probabilities[node];
    const colour = scaleColour(state.palette, probability);
    const style = `left:${x}px;top:${y}px;width:${layout.box.width}px;height:${layout.box.height}px`;
    const classes = ['node', outcome, isWinner && 'winner', isOnSelectedPath && 'path', node === this.node && 'chosen'];
    const attributes = {
      class: classes.filter(Boolean).join(' '),
      style: `${style};background:${cssColour(colour)};color:${textColourOn(colour)}`,
    };
    const name = layout.showsTokens ? make('bdi', {}, label) : null;
    const number = layout.showsProbabilities ? make('span', { class: 'numeric' }, twoDecimals(probability).replace(/^0/, '')) : null;
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
