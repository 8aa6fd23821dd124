// The Models tab: a table of models whose rows expand to model cards. The server sends cards as nodes, never as HTML.

import { callWithRetry, tables } from '../core/boot.js';
import { make, replace } from '../core/dom.js';
import { ready } from '../core/page.js';
import { on, set, state } from '../core/state.js';
import { faultText, languageName, t } from '../core/i18n.js';
import { HubAway, checkHub } from '../parts/hubaway.js';
import { byPair, kindName, pairName, formatSize } from '../parts/model-names.js';
import { curves, makePlainSentencesBar, makeReliabilityChart, makeScoresChart } from './charts.js';
import { OwnModels } from './own-models.js';

const TAGS = new Set('h4 p ul ol li table thead tbody tr th td strong em code pre a blockquote hr'.split(' '));
// Keys in the phrase table of the section titles that are translated.
const SECTIONS = {
  Scores: 'scores',
  'What it cannot do': 'limits',
  'How it learnt': 'learnt',
  'Heads that show something true': 'heads',
  Data: 'data',
  'How to repeat it': 'repeat',
  Files: 'files',
};
// Sections that are shown first and expanded.
const EXPANDED_SECTIONS = ['Scores', 'What it cannot do', 'How it learnt'];

/** @param {import('../core/server.js').Mounted} mounted */
export async function mount({ element, server }) {
  await ready;
  new ModelsTab(element, server.model_cards);
}

class ModelsTab {
  constructor(root, getCards) {
    this.getCards = getCards;
    this.cards = null;
    this.expandedCards = new Set();
    this.hubNotice = new HubAway();
    this.title = make('h2', { class: 'view-title' });
    this.ownModels = new OwnModels();
    this.error = make('p', { class: 'error', role: 'alert' });
    this.list = make('div', { class: 'cards' });
    root.append(this.title, this.error, make('div', { class: 'columns' }, this.list, this.ownModels.element));
    on(['translation'], () => this.mark());
    on(['hubAway'], () => this.cards && state.tab === 'models' && this.draw());
    on(['tab', 'language', 'fetched'], (changed) => {
      if (changed.includes('tab') && state.tab === 'models') checkHub();
      if (changed.includes('fetched')) this.cards = null;
      this.open();
    });
    if (state.tab === 'models') checkHub();
    this.open();
  }

  async open() {
    if (state.tab !== 'models') return;
    this.title.textContent = t('models_title');
    this.ownModels.draw();
    try {
      if (!this.cards) this.list.textContent = t('models_loading');
      this.cards ??= await callWithRetry(this.getCards, {});
      this.error.textContent = '';
      this.draw();
    } catch (error) {
      this.list.textContent = '';
      this.error.textContent = faultText(error);
    }
  }

  draw() {
    const cards = this.cards.map((card) => ({ ...card, source: card.languages[0] ?? '', target: card.languages[1] ?? '' }));
    const rank = (card) => (card.default ? 0 : card.kind === 'transformer' ? 1 : 2);
    cards.sort((a, b) => rank(a) - rank(b) || byPair(a, b));
    const installed = cards.filter(({ downloaded }) => downloaded);
    const downloadable = cards.filter(({ downloaded }) => !downloaded);
    replace(this.list, installed.length ? this.table(installed) : null, downloadable.length ? this.hub(downloadable) : null);
    if (!this.cards.length) this.list.textContent = t('models_none');
    this.mark();
  }

  /** Marks the model of the current translation. */
  mark() {
    for (const row of this.list.querySelectorAll('tr.model')) {
      const isUsed = row.dataset.model === state.translation?.model.name;
      row.classList.toggle('used', isUsed);
      row.querySelector('.in-use').textContent = isUsed ? t('models_in_use') : '';
      const button = row.querySelector('.use');
      if (button && row.dataset.kind === 'transformer') button.hidden = isUsed;
    }
  }

  /** A table with a row for each installed model. The card of a model expands below its row. */
  table(cards) {
    const names = ['models_column_model', 'models_column_plain', 'models_column_fails', 'models_fact_size'];
    const headRow = make('tr', {}, ...names.map((name) => make('th', { scope: 'col' }, t(name))), make('td', {}));
    return make('table', { class: 'models' }, make('thead', {}, headRow), make('tbody', {}, ...cards.flatMap((card) => this.lines(card))));
  }

  lines(card) {
    const id = `card-${card.name}`;
    const cardRow = make('tr', { class: 'whole', id, hidden: !this.expandedCards.has(card.name) });
    const cardButton = make(
      'button',
      { type: 'button', class: 'link card', 'aria-controls': id, 'aria-label': t('models_show_card', { model: card.name }) },
      t('models_card'),
    );
    const draw = () => {
      const isOpen = this.expandedCards.has(card.name);
      cardButton.setAttribute('aria-expanded', String(isOpen));
      cardRow.hidden = !isOpen;
      replace(cardRow, isOpen ? make('td', { colspan: 5 }, this.card(card)) : null);
    };
    cardButton.addEventListener('click', () => {
      if (!this.expandedCards.delete(card.name)) this.expandedCards.add(card.name);
      draw();
    });
    draw();
    const title = card.kind === 'classifier' ? describeModel(card) : pairName(card) || kindName(card);
    const name = make('th', { scope: 'row', id: `model-${card.name}` }, make('b', {}, title), ' ', make('span', {}, card.name));
    const facts = [
      make('td', { class: 'plain' }, makePlainSentencesBar(card.reliability?.plain)),
      make('td', { class: 'fails' }, card.failure ? makeFailure(card) : null),
      make('td', { class: 'numeric' }, formatSize(card.bytes)),
    ];
    const actions = make('td', { class: 'acts' }, make('span', { class: 'in-use' }), this.button(card), cardButton);
    const row = make('tr', { class: 'model', data: { model: card.name, kind: card.kind } }, name, ...facts, actions);
    return [row, cardRow];
  }

  card(card) {
    const facts = make('dl', {}, ...this.facts(card).flatMap(([term, value]) => [make('dt', {}, term), value]));
    const side = make('div', { class: 'side' }, facts);
    const summary = make('div', { class: 'summary', lang: 'en' }, ...card.summary.map(renderNode));
    const sections = EXPANDED_SECTIONS.map((title) => card.sections.find((section) => section.title === title)).filter(Boolean);
    const otherSections = card.sections.filter((section) => !sections.includes(section));
    const charts = [makeScoresChart(card.scores), makeReliabilityChart(card.reliability)].filter(Boolean);
    const chartGroup = charts.length ? make('div', { class: 'pictures' }, ...charts) : null;
    const sectionElements = sections.map((section) => makeSection(section, section.title === 'Scores' && Boolean(card.scores)));
    const body = make('div', { class: 'body' }, summary, chartGroup, ...sectionElements, this.more(card, otherSections));
    for (const [index, table] of body.querySelectorAll('[role=region]').entries()) {
      table.setAttribute('aria-label', t('models_table', { number: index + 1, model: card.name }));
    }
    return make('article', { 'aria-labelledby': `model-${card.name}`, data: { model: card.name, kind: card.kind } }, side, body);
  }

  /** List of models that can be downloaded. */
  hub(cards) {
    const item = (card) => {
      const id = `model-${card.name}`;
      const name = make(
        'div',
        { id },
        make('b', {}, card.kind === 'classifier' ? describeModel(card) : pairName(card) || kindName(card)),
        make('span', { class: 'quiet', lang: 'en' }, card.name),
      );
      const downloadButton = make(
        'button',
        { type: 'button', class: 'link', 'aria-describedby': id, onclick: () => useModel(card) },
        t('models_download'),
      );
      const size = make('span', { class: 'quiet numeric' }, card.bytes ? formatSize(card.bytes) : '');
      return make('li', {}, name, size, state.hubAway ? null : downloadButton);
    };
    const list = make('ul', {}, ...cards.map(item));
    this.hubNotice.draw();
    const byHand = make('p', { class: 'quiet' }, t('hub_by_hand'));
    const content = state.hubAway
      ? [this.hubNotice.element, make('details', {}, make('summary', {}, t('hub_details')), byHand, list)]
      : [make('p', { class: 'quiet' }, t('models_hub_says')), list];
    const title = make('h2', { id: 'models-hub' }, t('models_hub'));
    return make('section', { class: 'hub', 'aria-labelledby': 'models-hub' }, title, ...content);
  }

  facts(card) {
    const value = (text) => make('dd', { class: 'numeric' }, text);
    return [
      [t('models_fact_kind'), value(describeModel(card))],
      [t('models_fact_parameters'), value(card.parameters ? card.parameters.toLocaleString(state.language) : t('models_unknown'))],
      [t('models_fact_size'), value(formatSize(card.bytes))],
      [t('models_fact_licence'), value(formatLicence(card))],
    ];
  }

  button(card) {
    if (card.kind === 'transformer')
      return make(
        'button',
        { type: 'button', class: 'use', 'aria-describedby': `model-${card.name}`, onclick: () => useModel(card) },
        t('models_use_short'),
      );
    if (!document.getElementById('panel-sentiment')) return null;
    return make('button', { type: 'button', class: 'use', onclick: () => openClassifier(card) }, t('models_open_sentiment'));
  }

  more(card, otherSections) {
    if (!card.introduction.length && !otherSections.length) return null;
    const introduction = make('div', { class: 'prose', lang: 'en' }, ...card.introduction.map(renderNode));
    return make(
      'details',
      {},
      make('summary', {}, t('models_more')),
      introduction,
      ...otherSections.map((section) => makeSection(section)),
    );
  }
}

/** A sentence that the model translates wrongly, and its answer. */
function makeFailure({ failure, source, target }) {
  const text = t('models_failure', failure);
  return make(
    'span',
    { title: text },
    make('span', { lang: source }, `“${failure.text}”`),
    ' → ',
    make('span', { lang: target }, `“${failure.answer}”`),
  );
}

/** Open the model in the Heads tab, which offers the download of a missing model. */
function useModel({ name }) {
  dispatchEvent(new CustomEvent('headlight-model', { detail: { name } }));
  set({ tab: 'heads' });
  document.getElementById('sentence')?.scrollIntoView({ block: 'center' });
}

/** Open the Sentiment tab with this classifier. */
function openClassifier({ name, languages: [source = ''], where, linear }) {
  dispatchEvent(new CustomEvent('headlight-classifier', { detail: { name, source, where, linear, downloaded: true } }));
  set({ tab: 'sentiment' });
}

/** Name of the licence. Only the restriction of the bundled models is translated. */
function formatLicence({ licence }) {
  if (!licence) return t('models_no_licence');
  return licence === tables.words.en.models_licence_restricted ? t('models_licence_restricted') : licence;
}

function describeModel({ kind, languages }) {
  if (kind === 'classifier')
    return languages.length ? t('models_classifier', { language: languageName(languages[0]) }) : t('models_classifier_any');
  const [source, target] = languages.map(languageName);
  return target ? t('models_pair', { source, target }) : (source ?? t('models_translates'));
}

/** Section of a card. Titles in `SECTIONS` are translated, the text is not. `folded` collapses the section below its chart. */
function makeSection({ title, blocks, curve }, folded = false) {
  const phrase = SECTIONS[title];
  const heading = phrase ? make('h3', {}, t(`models_section_${phrase}`)) : make('h3', { lang: 'en' }, title);
  const prose = make('div', { class: 'prose', lang: 'en' }, ...blocks.map(renderNode));
  if (!curve && !folded) return make('section', {}, heading, prose);
  const numbers = make('details', {}, make('summary', {}, t('models_numbers')), prose);
  if (folded) return make('section', { class: 'numbers' }, numbers); // the chart is above
  return make('section', {}, heading, make('div', { class: 'curves' }, ...curves(curve)), numbers);
}

/** Converts a node of a card to an element. Unknown tags become `span`. */
function renderNode(node) {
  if (typeof node === 'string') return node;
  const children = (node.inside ?? []).map(renderNode);
  if (!TAGS.has(node.tag)) return make('span', {}, ...children);
  const link = node.tag === 'a' ? { href: node.href, target: '_blank', rel: 'noopener noreferrer' } : {};
  const element = make(node.tag, { class: node.end ? 'end' : null, ...link }, ...children);
  if (node.tag === 'table') return make('div', { class: 'wide', tabindex: 0, role: 'region' }, element);
  return element;
}
