// "Explain this head": a short paragraph from its numbers in this sentence and over a corpus, with typical sentences. The
// corpus numbers are fetched once per model, on demand.

import { isShiftedHead } from '../core/default-head.js';
import { callWithRetry } from '../core/boot.js';
import { make, replace } from '../core/dom.js';
import { LatestRequest } from '../core/latest-request.js';
import { on, set, state } from '../core/state.js';
import { twoDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { listMeasures } from '../parts/measures.js';
import { headName } from '../parts/head-names.js';
import { HeadEffect } from './head-effect.js';

const MIN_STABLE_SHARE = 0.75; // share of sentences in which a stable head keeps its role
const LOW_ENTROPY = 0.35; // relative entropy of a row
const HIGH_ENTROPY = 0.7;

/**
 * Sentences of the paragraph as phrase keys with values. `facts`: role, share and measures in this sentence, and whether the
 * head is shifted (`late`); `corpus`: the head's record over the corpus, if available; `count`: sentences in the corpus.
 */
export function describeHead(facts, corpus, count) {
  const sentences = [];
  const hasNoRole = facts.role === 'unclear' || facts.role === 'spreads';
  sentences.push([hasNoRole ? `explain_${facts.role}` : 'explain_here', { role: facts.role, share: twoDecimals(facts.share) }]);
  if (facts.late) sentences.push(['explain_late', {}]);
  const entropy = facts.measures.relative_entropy;
  const width = entropy < LOW_ENTROPY ? 'narrow' : entropy > HIGH_ENTROPY ? 'wide' : 'middle';
  if (entropy >= 0)
    sentences.push([`explain_${width}`, { peak: twoDecimals(facts.measures.peak), distance: facts.measures.distance.toFixed(1) }]);
  if (!corpus) return sentences;
  const values = { count, held: Math.round(100 * corpus.held), role: corpus.role };
  if (corpus.role === 'unclear') sentences.push(['explain_unclear_too', { count }]);
  else if (corpus.role === facts.role) sentences.push([corpus.held >= MIN_STABLE_SHARE ? 'explain_steady' : 'explain_often', values]);
  else sentences.push(['explain_otherwise', values]);
  return sentences;
}

/** Joins sentences with spaces, except after a full-width full stop. */
export const joinSentences = (sentences) =>
  sentences.reduce((all, sentence) => (/[。！？]$/.test(all) ? `${all}${sentence}` : `${all} ${sentence}`));

export class HeadExplanation {
  /** @param {import('../core/server.js').Server} server */
  constructor(server, view) {
    this.server = server;
    this.view = view;
    this.corpusRecords = new Map(); // by model name
    this.atlases = new Map(); // by model name
    this.summary = make('summary', {});
    this.text = make('p', { class: 'explained' });
    this.title = make('h3', {});
    this.list = make('ol', {});
    this.error = make('p', { class: 'error', role: 'alert' });
    this.examples = make('div', { class: 'examples' }, this.title, this.list);
    this.effect = new HeadEffect((text) => this.translate(text));
    this.element = make(
      'details',
      { class: 'head-table explain' },
      ...[this.summary, this.text, this.error, this.effect.text, this.examples, this.effect.examples],
    );
    this.latest = new LatestRequest(this.element, this.error, 'error_our_fault');
    this.element.addEventListener('toggle', () => set({ explain: this.element.open }));
    on(['explain'], () => this.draw());
    this.list.addEventListener('click', (event) => {
      const number = event.target.closest('button')?.dataset.number;
      if (number) this.translateExample(number);
    });
  }

  open() {
    set({ explain: true });
    this.element.scrollIntoView({ block: 'nearest' });
  }

  draw() {
    this.summary.textContent = t('explain');
    this.element.open = state.explain;
    const { translation } = state;
    if (!this.element.open || !translation.roles) return;
    const { name } = translation.model;
    this.write();
    if (this.corpusRecords.has(name)) return;
    this.latest.load(
      name,
      (signal) =>
        Promise.all(
          [this.server.corpus_roles, this.server.head_atlas].map((call) => callWithRetry(call, { model: name }, null, null, signal)),
        ),
      ([{ roles }, { atlas, aligning }]) => {
        this.corpusRecords.set(name, roles);
        this.atlases.set(name, { ...atlas, aligning });
        this.write();
      },
    );
  }

  write() {
    const { translation, kind } = state;
    const { layer, head } = this.view.updateSelection();
    const isSingleHead = typeof layer === 'number' && typeof head === 'number';
    this.examples.hidden = true;
    this.effect.draw(isSingleHead ? this.atlases.get(translation.model.name) : null, { kind, layer, head });
    if (!isSingleHead) return replace(this.text, t('explain_single'));
    const [role, share] = translation.roles[kind][layer][head];
    const report = this.corpusRecords.get(translation.model.name);
    const corpus = report?.heads[kind]?.[layer]?.[head];
    const late = isShiftedHead(translation, { kind, layer, head });
    const facts = { role, share, late, measures: listMeasures(translation, kind)[layer][head] };
    const sentenceText = ([phrase, values]) =>
      t(phrase, {
        ...values,
        head: headName(layer, head),
        role: values.role && t(`${phrase === 'explain_otherwise' ? 'chip' : 'role'}_${values.role}`),
      });
    const parts = describeHead(facts, corpus, report?.sentences).map(sentenceText);
    const unknown = this.corpusRecords.has(translation.model.name) && !corpus ? t('explain_unknown') : '';
    replace(this.text, joinSentences([...parts, unknown].filter(Boolean)));
    const examples = (corpus?.role === 'unclear' ? [] : (corpus?.examples ?? [])).filter((number) => report.texts[number]);
    this.examples.hidden = !examples.length;
    this.title.textContent = t('explain_examples');
    const item = (number) =>
      make('li', {}, make('button', { type: 'button', class: 'link', data: { number } }, make('bdi', {}, report.texts[number])));
    replace(this.list, ...examples.map(item));
    return this.element;
  }

  /** Translates an example sentence and keeps this head selected. */
  translateExample(number) {
    this.translate(this.corpusRecords.get(state.translation.model.name).texts[number]);
  }

  translate(text) {
    const { kind } = state;
    const { layer, head } = this.view.updateSelection();
    set({ lastHeads: { ...state.lastHeads, [kind]: { layer, head } } });
    dispatchEvent(new CustomEvent('headlight-request', { detail: { text, prefix: null, target: null } }));
  }
}
