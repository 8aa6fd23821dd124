// Finds the best alignment head on one half of a gold file and reports its score on the other half.

import { callWithRetry } from '../core/boot.js';
import { make, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { languageTag } from '../core/language-tags.js';
import { twoDecimals } from '../core/map-view.js';
import { faultText, t } from '../core/i18n.js';
import { FilePicker } from '../parts/filepicker.js';
import { shortName } from '../parts/head-names.js';

const PAIRS_PER_CALL = 4; // pairs per request, so that other visitors are served in between
const MAX_PAIRS = 200; // pairs that are read from a file
const MAX_LISTED_HEADS = 8;

/**
 * Parses a table whose first line names two languages and `links`. Returns `{ isReversed, rows }`, rows as `[first, second,
 * links]`, or null if a column is missing or there is no row. `isReversed`: the model translates the second into the first.
 */
export function parseTable(text, model) {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const [names, ...rows] = lines.filter((line) => line.trim()).map((line) => line.split('\t'));
  const links = names?.indexOf('links') ?? -1;
  const languages = (names ?? []).map((name, column) => ({ tag: languageTag(name), column }));
  const columnFor = (language) => languages.find(({ tag }) => language && tag === languageTag(language))?.column ?? -1;
  const [source, target] = [columnFor(model.source), columnFor(model.target)];
  if (links < 0 || source < 0 || target < 0 || !rows.length) return null;
  const isReversed = target < source;
  const [first, second] = isReversed ? [target, source] : [source, target];
  return { isReversed, rows: rows.slice(0, MAX_PAIRS).map((row) => [first, second, links].map((index) => row[index] ?? '')) };
}

// Link counts of one or more pairs: [links of the head, sure gold links, head links that are sure, head links that are sure or possible].
const NO_COUNTS = [0, 0, 0, 0];
const addCounts = (a, b) => a.map((count, index) => count + b[index]);
const computeErrorRate = ([headLinkCount, sureCount, rightSureCount, rightCount]) =>
  headLinkCount + sureCount ? 1 - (rightSureCount + rightCount) / (headLinkCount + sureCount) : 0;

/**
 * Ranks heads by `selectionRate`, their error rate on the even pairs; `rate`, `precision` and `recall` are measured on the
 * odd pairs. `counts`: a map of each head's entry, with the link counts of every pair.
 */
export function chooseAndTest(counts) {
  const countHalf = (pairs, odd) => pairs.filter((_, index) => index % 2 === odd).reduce(addCounts, NO_COUNTS);
  const results = [...counts.values()].map(({ layer, head, shift, pairs }) => {
    const [selectionCounts, testCounts] = [countHalf(pairs, 0), countHalf(pairs, 1)];
    const [headLinkCount, sureCount, rightSureCount, rightCount] = testCounts;
    const scores = {
      rate: computeErrorRate(testCounts),
      precision: headLinkCount ? rightCount / headLinkCount : 1,
      recall: sureCount ? rightSureCount / sureCount : 1,
    };
    return { layer, head, shift, selectionRate: computeErrorRate(selectionCounts), ...scores };
  });
  return results.sort((a, b) => a.selectionRate - b.selectionRate);
}

export class GoldFile {
  /**
   * `open(head)` shows a head.
   * @param {import('../core/server.js').Server} server
   */
  constructor(server, open) {
    this.server = server;
    this.evaluation = 0; // number of the current evaluation; increasing it stops the evaluation
    this.counts = new Map();
    this.title = make('h3', {});
    this.description = make('p', { class: 'quiet' });
    this.picker = new FilePicker('.tsv,.txt,text/plain', (file) => this.evaluate(file));
    this.progress = make('p', { class: 'quiet', role: 'status' });
    this.stopButton = make('button', { type: 'button', class: 'link', hidden: true, onclick: () => (this.evaluation += 1) });
    this.error = make('p', { class: 'error', role: 'alert' });
    this.table = make('table', { hidden: true });
    this.element = make(
      'div',
      { class: 'gold-file' },
      this.title,
      this.description,
      this.picker.element,
      this.progress,
      this.stopButton,
      this.error,
      this.table,
    );
    this.element.addEventListener('dragover', (event) => event.preventDefault());
    this.element.addEventListener('drop', (event) => {
      event.preventDefault();
      this.evaluate(event.dataTransfer.files[0]);
    });
    this.table.addEventListener('click', (event) => {
      const { layer, head } = event.target.closest('button')?.dataset ?? {};
      if (layer) open({ layer: Number(layer), head: Number(head) });
    });
  }

  draw() {
    this.title.textContent = t('gold_file');
    this.description.textContent = t('gold_file_says', { most: MAX_PAIRS });
    this.picker.draw(t('gold_file'));
    this.stopButton.textContent = t('gold_file_stop');
    if (this.counts.size) this.drawTable();
  }

  async evaluate(file) {
    if (!file) return;
    const evaluation = ++this.evaluation;
    const { model } = state.translation;
    const text = await file.text();
    if (evaluation !== this.evaluation) return;
    const table = parseTable(text, model);
    this.counts = new Map();
    this.table.hidden = true;
    this.error.textContent = table ? '' : t('gold_file_no_table', { source: model.source, target: model.target });
    if (!table) return;
    const { rows, isReversed } = table;
    this.stopButton.hidden = false;
    try {
      for (let done = 0; done < rows.length && evaluation === this.evaluation; done += PAIRS_PER_CALL) {
        const scores = await callWithRetry(this.server.count_links, {
          model: model.name,
          rows: rows.slice(done, done + PAIRS_PER_CALL),
          reversed: isReversed,
        });
        if (evaluation !== this.evaluation) break;
        this.add(scores.heads);
        this.progress.textContent = t('gold_file_progress', { done: Math.min(done + PAIRS_PER_CALL, rows.length), all: rows.length });
        this.drawTable();
      }
    } catch (error) {
      if (evaluation === this.evaluation) this.error.textContent = faultText(error);
    }
    if (evaluation === this.evaluation) this.stopButton.hidden = true;
  }

  add(heads) {
    for (const [layer, head, shift, pairs] of heads) {
      const name = `${layer}.${head}.${shift}`;
      const entry = this.counts.get(name) ?? { layer, head, shift, pairs: [] };
      entry.pairs.push(...pairs);
      this.counts.set(name, entry);
    }
  }

  drawTable() {
    const ranked = chooseAndTest(this.counts).slice(0, MAX_LISTED_HEADS);
    this.table.hidden = !ranked.length;
    const names = ['finder_head', 'finder_reading', 'gold_file_selection', 'gold_file_rate', 'finder_precision', 'finder_recall'];
    const titles = names.map((name, index) => make('th', { scope: 'col', class: index < 2 ? 'name' : null }, t(name)));
    const row = ({ layer, head, shift, selectionRate, rate, precision, recall }) => {
      const headButton = make('button', { type: 'button', data: { layer, head } }, shortName({ layer, head }));
      const values = [selectionRate, rate, precision, recall].map((value) => make('td', { class: 'numeric' }, twoDecimals(value)));
      const reading = make('td', {}, t(shift ? 'finder_after' : 'finder_own'));
      return make('tr', {}, make('th', { scope: 'row' }, headButton), reading, ...values);
    };
    const caption = make('caption', { class: 'hidden-text' }, t('gold_file'));
    replace(this.table, caption, make('thead', {}, make('tr', {}, ...titles)), make('tbody', {}, ...ranked.map(row)));
  }
}
