// The Decoding tab: the search tree, its finished hypotheses, and token probabilities.

import { callWithRetry, loadPlotly } from '../core/boot.js';
import { make } from '../core/dom.js';
import { LatestRequest } from '../core/latest-request.js';
import { ready } from '../core/page.js';
import { on, set, state } from '../core/state.js';
import { sentenceGap, t } from '../core/i18n.js';
import { Probabilities } from './probabilities.js';
import { choiceReason } from './choice-reason.js';
import { SelectedNode } from './selected-node.js';
import { TreeView } from './tree-view.js';
import { FinishedList } from './finished-list.js';
import { section } from './section.js';
import { Stepper } from './stepper.js';
import { SearchTree } from './search-tree.js';

/** @param {import('../core/server.js').Mounted} mounted */
export async function mount({ element, server }) {
  await ready;
  new DecodingTab(element, server);
}

class DecodingTab {
  /** @param {import('../core/server.js').Server} server */
  constructor(root, server) {
    this.root = root;
    this.server = server;
    this.build();
    this.latest = new LatestRequest(root, this.error, 'decoding_failed');
    on(['tab', 'translation', 'language', 'theme'], () => this.update());
    on(['busy'], () => root.classList.toggle('busy', state.busy));
    this.update();
  }

  build() {
    const choose = (node) => this.choose(node);
    const open = (node) => this.open(node);
    this.tree = new TreeView({ choose, open, onHover: (node) => this.hoverNode(node) });
    this.stepper = new Stepper({ showSteps: (step) => this.showStep(step), isVisible: () => state.tab === 'decoding' });
    this.controls = make('div', { class: 'controls', hidden: true }, this.stepper.element, ...this.tree.options);
    this.selectedNode = new SelectedNode({ choose, onStep: (offset) => this.moveStep(offset), open: () => this.open(this.node) });
    this.finished = new FinishedList({ choose, open });
    this.probabilities = new Probabilities({
      choose: (index) => this.chooseToken(index),
      onHover: (index) => this.hoverToken(index),
    });
    this.error = make('p', { class: 'error', role: 'alert' });
    this.emptyText = make('p', { class: 'single' });
    this.searchButton = make('button', { type: 'button', class: 'go', onclick: () => this.requestSearch() });
    this.emptyState = make('div', { class: 'none', hidden: true }, this.emptyText, this.searchButton); // without a tree
    this.search = section(
      'search',
      this.emptyState,
      this.controls,
      this.tree.element,
      this.tree.legend,
      this.selectedNode.readout,
      this.tree.keyHints,
    );
    this.search.title.className = 'view-title';
    this.pair = make('div', { class: 'pair' }, this.selectedNode.step.element, this.finished.section.element);
    for (const element of [this.selectedNode.readout, this.tree.element, this.tree.legend, this.tree.keyHints, this.pair])
      element.hidden = true;
    this.root.append(this.error, this.search.element, this.pair, this.probabilities.section.element);
  }

  // ---------------------------------------------------------------- requests

  /** The request whose search is shown: the tree's request if the translation was opened from a tree, else the translation's. */
  searchRequest() {
    const request = state.translation.requestValues();
    const { treeRequest } = this;
    const isFromTree = Array.isArray(request.target) && treeRequest?.text === request.text && treeRequest?.model === request.model;
    return isFromTree ? treeRequest : request;
  }

  update() {
    if (state.tab !== 'decoding' || !state.translation) return;
    const appearance = { theme: state.theme, language: state.language };
    const [searchRequest, request] = [this.searchRequest(), state.translation.requestValues()];
    if (!this.searchResult) {
      this.search.title.textContent = t('decoding_search');
      this.search.caption.textContent = t('decoding_loading');
    }
    const loadBoth = (signal) => {
      const call = (method, values) => callWithRetry(method, { request: values, ...appearance }, null, null, signal);
      const chart = this.server.draw_chances && Promise.all([call(this.server.draw_chances, request), loadPlotly()]);
      return Promise.all([call(this.server.draw_search, searchRequest), chart]);
    };
    this.latest
      .load(JSON.stringify([searchRequest, request, appearance]), loadBoth, ([search, chart]) => this.draw(searchRequest, search, chart))
      .then(() => {
        if (!this.searchResult && this.error.textContent) this.search.caption.textContent = ''; // the request has failed
      });
  }

  /** Requests a translation with changed values of the current request. */
  requestTranslation(changes) {
    dispatchEvent(new CustomEvent('headlight-request', { detail: { ...this.currentRequest, prefix: null, target: null, ...changes } }));
  }

  /** Opens the path to a node as a translation with all its attention maps. */
  open(node) {
    const ids = this.searchResult.tree.ids(node);
    this.treeRequest = this.currentRequest;
    if (ids.join() !== state.translation.target.map((token) => token.id).join()) this.requestTranslation({ target: ids });
    set({ tab: 'heads' });
    /** @type {HTMLElement | null} */ (document.querySelector('.tabs [aria-selected=true]'))?.focus();
  }

  /** Without a search tree: requests a beam search, or the model's own translation instead of a forced one. */
  requestSearch() {
    const defaults = state.defaultRequest ?? {};
    this.treeRequest = null;
    const { back_weight } = state.translation.model.defaults ?? defaults;
    this.requestTranslation(
      this.isForced ? {} : { beam_size: defaults.beam_size, temperature: 0, prefix: this.currentRequest.prefix, back_weight },
    );
  }

  // ---------------------------------------------------------------- drawing

  /** `chart`: [response with the figure of token probabilities, Plotly]; undefined if the page does not offer it. */
  draw(request, { nodes, beam, finished, samples, backs, back_weight: weight }, chart) {
    const isSame = JSON.stringify(this.currentRequest) === JSON.stringify(request);
    this.currentRequest = request;
    this.searchResult = { tree: new SearchTree(nodes), beam, finished, best: finished[0], penalty: request.length_penalty, backs, weight };
    this.isForced = request.target !== null;
    this.canOpen = document.getElementById('panel-heads') !== null;
    const hasTree = nodes.length > 0;
    const { tree } = this;
    this.emptyState.hidden = hasTree;
    const { controls, pair, selectedNode } = this;
    for (const element of [selectedNode.readout, controls, tree.element, tree.legend, tree.keyHints, pair, this.search.caption])
      element.hidden = !hasTree;
    this.search.title.textContent = t('decoding_search');
    this.probabilities.section.element.hidden = !chart;
    if (chart) this.probabilities.draw(chart[1], chart[0].figure);
    if (hasTree) {
      const reason = choiceReason(this.searchResult.tree, finished, backs, weight);
      if (reason) this.search.title.textContent = reason.choice;
      this.search.caption.textContent = [reason?.greedy ?? '', t('decoding_search_says', { beam })].filter(Boolean).join(sentenceGap());
      tree.show(this.searchResult, this.canOpen);
      this.finished.draw(this.searchResult, this.canOpen);
      this.drawTree(isSame);
    } else {
      tree.clear();
      this.drawEmptyState(samples);
    }
  }

  /** Says why there is no tree, and offers a beam search. `samples`: whether the tokens were sampled. */
  drawEmptyState(samples) {
    const beam = state.defaultRequest?.beam_size ?? 1;
    this.emptyText.textContent = t(this.isForced ? 'decoding_given' : samples ? 'decoding_sampled' : 'decoding_greedy');
    this.searchButton.textContent = t(this.isForced ? 'decoding_back' : 'decoding_try_beam', { beam });
    this.searchButton.hidden = !this.isForced && beam < 2;
  }

  drawTree(isSameSearch) {
    const { tree, best } = this.searchResult;
    const defaultNode = best ?? 0; // the end of the best path, since all steps are shown
    this.stepper.reset(tree.steps.length);
    this.tree.visibleSteps = Infinity;
    this.choose(isSameSearch && this.node < tree.nodes.length ? this.node : defaultNode);
  }

  /** Selects a node: updates its path, its text, the candidates of its step, and its token in the translation. */
  choose(node) {
    const { tree } = this.searchResult;
    this.node = node;
    if (tree.nodes[node].step >= this.tree.visibleSteps) this.stepper.goTo(tree.nodes[node].step + 1);
    this.tree.select(node);
    this.selectedNode.show(this.searchResult, node, this.canOpen);
    this.probabilities.select(this.tokenIndex(node));
    this.pair.style.setProperty('--rows', Math.max(...tree.steps.map((nodes) => nodes.length)));
  }

  /** Shows the first `step` steps of the search and selects the last visible node of the best or the selected path. */
  showStep(step) {
    const { tree, best } = this.searchResult;
    this.tree.showSteps(step);
    const paths = [best, this.node].filter((node) => node !== undefined).map((node) => tree.path(node));
    const node = paths.find((path) => path.length >= step)?.[step - 1] ?? tree.steps[step - 1][0];
    this.choose(node);
  }

  // ---------------------------------------------------------------- nodes and tokens of the translation

  /** The best path if its tokens are those of the page's translation, else an empty list. */
  targetNodes() {
    const { tree, best } = this.searchResult;
    const ids = best === undefined ? [] : tree.ids(best);
    return ids.join() === state.translation.target.map(({ id }) => id).join() ? tree.path(best) : [];
  }

  /** Index of the node's token in the page's translation; null if it is not part of it. */
  tokenIndex(node) {
    const index = node === null ? -1 : this.targetNodes().indexOf(node);
    return index < 0 ? null : index;
  }

  hoverNode(node) {
    this.tree.highlight(node);
    this.probabilities.highlight(this.tokenIndex(node));
  }

  hoverToken(index) {
    this.tree.highlight(index === null ? null : (this.targetNodes()[index] ?? null));
    this.probabilities.highlight(index);
  }

  chooseToken(index) {
    const node = this.targetNodes()[index];
    if (node !== undefined) this.choose(node);
  }

  /** Moves to the next (offset 1) or previous (−1) step: along the path of the selected node or, at its end, to the best node. */
  moveStep(offset) {
    const { node } = this;
    const { tree, best } = this.searchResult;
    this.choose((offset > 0 ? tree.child(node, best) : tree.parent(node)) ?? tree.steps[tree.getFacts(node).step + offset][0]);
  }
}
