// The selected node: its text so far, why it was kept or dropped, and the candidates of its step.

import { make, replace, tableHead } from '../core/dom.js';
import { fourDecimals, formatSigned } from '../core/map-view.js';
import { tokenProbabilities } from './tree-layout.js';
import { t } from '../core/i18n.js';
import { stepButtons } from '../parts/step-buttons.js';
import { section } from './section.js';

const MAX_PREFIX_LENGTH = 18; // characters of a candidate before its last token

export class SelectedNode {
  /** Callbacks: `choose(node)` selects a candidate, `onStep(offset)` moves by −1 or 1 steps, `open()` shows the maps of the path. */
  constructor({ choose, onStep, open }) {
    this.choose = choose;
    this.nodeText = make('p', { class: 'reads', dir: 'auto' });
    this.facts = make('p', { class: 'about numeric' });
    this.openButton = make('button', { type: 'button', class: 'link', onclick: open });
    this.readout = make('div', { class: 'readout' }, make('div', { 'aria-live': 'polite' }, this.nodeText, this.facts), this.openButton);
    const [previous, next] = stepButtons(onStep);
    this.previous = previous;
    this.next = next;
    this.table = make('table', {});
    this.step = section('step', this.table);
    this.step.element.prepend(make('div', { class: 'turn' }, previous, next, this.step.title));
  }

  /** Shows a node of a search. `beam`: beam size; `canOpen`: whether paths can be opened. */
  show({ tree, beam }, node, canOpen) {
    const { text, unchanged, label } = tree.getNode(node);
    replace(this.nodeText, ...highlightToken(text, unchanged, label));
    const { log_probability, score, reason } = tree.getFacts(node);
    const numberText = t('decoding_node_numbers', {
      token: label,
      probability: fourDecimals(tokenProbabilities(tree)[node]),
      log_probability: formatSigned(log_probability),
      score: formatSigned(score),
    });
    const reasonText = t(`decoding_reason_${reason}`, { beam });
    replace(this.facts, make('span', { class: 'nowrap' }, numberText), ' ', make('span', {}, reasonText));
    this.openButton.textContent = t('decoding_open');
    this.openButton.hidden = !canOpen;
    this.drawStep(tree, node);
  }

  /** Draws the candidates of the node's step as a table. */
  drawStep(tree, node) {
    const { step } = tree.getFacts(node);
    const { steps } = tree;
    this.step.title.textContent = t('decoding_step', { step: step + 1, steps: steps.length });
    this.step.caption.textContent = t('decoding_step_says');
    for (const [button, phrase, lastStep] of [
      [this.previous, 'decoding_previous_step', 0],
      [this.next, 'decoding_next_step', steps.length - 1],
    ]) {
      button.setAttribute('aria-label', t(phrase));
      button.disabled = step === lastStep;
    }
    const hadFocus = this.table.contains(document.activeElement);
    const titles = ['decoding_candidate', 'decoding_log_probability', 'decoding_score', 'decoding_outcome'].map((phrase) => t(phrase));
    replace(
      this.table,
      tableHead(titles),
      make('tbody', {}, ...steps[step].map((candidate) => this.makeRow(tree, candidate, candidate === node))),
    );
    if (hadFocus) this.table.querySelector('[aria-pressed=true]')?.focus({ preventScroll: true });
  }

  makeRow(tree, node, isSelected) {
    const { text, unchanged, label } = tree.getNode(node);
    const { log_probability, score, outcome } = tree.getFacts(node);
    const name = make('bdi', {}, ...highlightToken(text, unchanged, label, MAX_PREFIX_LENGTH));
    const button = make(
      'button',
      { type: 'button', 'aria-pressed': String(isSelected), title: text, onclick: () => this.choose(node) },
      name,
    );
    const cells = [log_probability, score].map((number) => make('td', { class: 'numeric' }, formatSigned(number)));
    const outcomeCell = make('td', {}, t(`decoding_outcome_${outcome}`));
    return make('tr', { class: `${outcome}${isSelected ? ' chosen' : ''}` }, make('th', { scope: 'row' }, button), ...cells, outcomeCell);
  }
}

/**
 * Returns the DOM nodes of a text with its last token in bold: the part after the first `unchanged` characters, or `label` if
 * that part is blank. If the part before it has more than `maxPrefixLength` characters, its start is cut.
 */
function highlightToken(text, unchanged, label, maxPrefixLength = Infinity) {
  const addedText = text.slice(unchanged).trim() ? text.slice(unchanged) : '';
  const prefix = text.slice(0, text.length - addedText.length);
  const shortPrefix = prefix.length > maxPrefixLength ? `…${prefix.slice(-maxPrefixLength)}` : prefix;
  return [shortPrefix, make('b', {}, addedText || ` ${label}`)];
}
