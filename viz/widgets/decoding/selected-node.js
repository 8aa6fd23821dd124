// The selected node: its text so far, why it was kept or dropped, and the candidates of its step.

import { make, replace, tableHead } from '../core/dom.js';
import { fourDecimals, formatSigned } from '../core/map-view.js';
import { probabilities } from './tree-layout.js';
import { t } from '../core/i18n.js';
import { stepButtons } from '../parts/step-buttons.js';
import { section } from './section.js';

const MAX_PREFIX_LENGTH = 18; // characters of a candidate before its last token

export class SelectedNode {
  /** Callbacks: `choose(node)` selects a candidate, `onStep(step)` changes the step, `open()` opens the path. */
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
    const numbers = t('decoding_node_numbers', {
      token: label,
      probability: fourDecimals(probabilities(tree)[node]),
      log_probability: formatSigned(log_probability),
      score: formatSigned(score),
    });
    const description = t(`decoding_reason_${reason}`, { beam });
    replace(this.facts, make('span', { class: 'nowrap' }, numbers), ' ', make('span', {}, description));
    this.openButton.textContent = t('decoding_open');
    this.openButton.hidden = !canOpen;
    this.drawStep(tree, node);
  }

  drawStep(tree, node) {
    const { step } = tree.getFacts(node);
    const { steps } = tree;
    this.step.title.textContent = t('decoding_step', { step: step + 1, steps: steps.length });
    this.step.caption.textContent = t('decoding_step_says');
    for (const [button, name, end] of [
      [this.previous, 'decoding_previous_step', 0],
      [this.next, 'decoding_next_step', steps.length - 1],
    ]) {
      button.setAttribute('aria-label', t(name));
      button.disabled = step === end;
    }
    const focused = this.table.contains(document.activeElement);
    const names = ['decoding_candidate', 'decoding_log_probability', 'decoding_score', 'decoding_outcome'].map((name) => t(name));
    replace(
      this.table,
      tableHead(names),
      make('tbody', {}, ...steps[step].map((candidate) => this.row(tree, candidate, candidate === node))),
    );
    if (focused) this.table.querySelector('[aria-pressed=true]')?.focus({ preventScroll: true });
  }

  row(tree, node, isSelected) {
    const { text, unchanged, label } = tree.getNode(node);
    const { log_probability, score, outcome } = tree.getFacts(node);
    const name = make('bdi', {}, ...highlightToken(text, unchanged, label, MAX_PREFIX_LENGTH));
    const button = make(
      'button',
      { type: 'button', 'aria-pressed': String(isSelected), title: text, onclick: () => this.choose(node) },
      name,
    );
    const cells = [log_probability, score].map((number) => make('td', { class: 'numeric' }, formatSigned(number)));
    const description = make('td', {}, t(`decoding_outcome_${outcome}`));
    return make('tr', { class: `${outcome}${isSelected ? ' chosen' : ''}` }, make('th', { scope: 'row' }, button), ...cells, description);
  }
}

/** The text, with the part that its last token added in bold. Long texts are truncated at the start. */
function highlightToken(text, unchanged, label, maxLength = Infinity) {
  const added = text.slice(unchanged).trim() ? text.slice(unchanged) : '';
  const before = text.slice(0, text.length - added.length);
  const shortText = before.length > maxLength ? `…${before.slice(-maxLength)}` : before;
  return [shortText, make('b', {}, added || ` ${label}`)];
}
