// "How did schläft reach sleeping?": splits a source word's contribution by head of cross-attention and, for one head, by
// attended word. The decoder reads source words only through cross-attention, so the parts add up to the contribution.

import { callWithRetry } from '../core/boot.js';
import { fillElements, make, replace } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { LatestRequest } from '../core/latest-request.js';
import { axes } from '../core/map-view.js';
import { set } from '../core/state.js';
import { shortName } from '../parts/head-names.js';
import { partRows } from './part-rows.js';
import { roundParts } from '../core/rounding.js';

const MAX_ROWS = 5; // further parts are summed in one row
const MIN_PART = 0.005; // nats; smaller parts round to 0.00 and have no row

/**
 * The largest parts in descending order of magnitude, followed by the sum of the others, if any, with the label
 * `otherLabel(count)`. Values are rounded so that they add up.
 */
export function largestParts(parts, otherLabel, count = MAX_ROWS) {
  const byValue = [...parts].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const largest = byValue.slice(0, count).filter(({ value }) => Math.abs(value) >= MIN_PART);
  const remaining = byValue.slice(largest.length);
  if (remaining.length)
    largest.push({ label: otherLabel(remaining.length), value: remaining.reduce((sum, { value }) => sum + value, 0), special: true });
  const rounded = roundParts(largest.map(({ value }) => value));
  return largest.map((part, index) => ({ ...part, value: rounded[index] }));
}

/** Sums each head's parts, `heads[layer][head][token]`, over the source tokens of a word. */
export const sumByHead = (heads, tokenIndices) =>
  heads.flatMap((layerParts, layer) =>
    layerParts.map((tokenParts, head) => ({
      label: shortName({ layer, head }),
      layer,
      head,
      value: tokenIndices.reduce((sum, token) => sum + tokenParts[token], 0),
    })),
  );

/** Sums each attended word's parts, `keys[key][token]`, over its keys and over the source tokens of a word. */
export const sumByKeyWord = (keys, words, tokenIndices) =>
  words.map(({ label, special, places: keyIndices }) => ({
    label,
    special,
    column: keyIndices[0],
    value: keyIndices.reduce((sum, key) => sum + tokenIndices.reduce((keySum, token) => keySum + keys[key][token], 0), 0),
  }));

export class AccountHeads {
  /** @param {import('../core/server.js').Server} server */
  constructor(server) {
    this.server = server;
    /** @type {any} */
    this.account = null; // {translation, query, word: label of the target word, words: source words}
    this.question = make('span', { class: 'quiet', id: 'account-open' });
    this.choice = make('div', { class: 'segments words', role: 'group', 'aria-labelledby': 'account-open' });
    this.title = make('h3', {});
    this.heads = make('div', { class: 'account-rows' });
    this.keysTitle = make('h3', {});
    this.keys = make('div', { class: 'account-rows' });
    this.error = make('p', { class: 'error', role: 'alert' });
    const lists = make('div', { class: 'opened' }, make('div', {}, this.title, this.heads), make('div', {}, this.keysTitle, this.keys));
    this.element = make('div', { class: 'account-heads' }, this.question, this.choice, this.error, lists);
    this.latest = new LatestRequest(lists, this.error, 'error_our_fault');
    this.latestKeys = new LatestRequest(this.keys, this.error, 'error_our_fault');
  }

  /** Shows the source words of an account. `query`: the account's query; `word`: label of the target word. */
  show(translation, query, word) {
    const isNew = JSON.stringify(query) !== JSON.stringify(this.account?.query);
    const words = axes(translation, 'cross', { words: true, special: true }).columns;
    this.account = { translation, query, word, words };
    if (isNew) this.close();
    this.draw();
  }

  hide() {
    this.account = null;
    this.close();
    replace(this.choice);
    this.question.textContent = '';
  }

  close() {
    /** @type {any} */
    this.selectedWord = null; // source word
    /** @type {any} */
    this.headParts = null; // `[layer][head][token]`
    /** @type {any} */
    this.openedHead = null; // {layer, head}, with `keys`, its parts `[key][token]`, once they are loaded
    this.latest.cancel();
    this.latestKeys.cancel();
    this.error.textContent = '';
  }

  draw() {
    const { words } = this.account;
    this.question.textContent = t('account_open');
    const button = (word) => {
      const isSelected = word.places[0] === this.selectedWord?.places[0];
      const attributes = { type: 'button', 'aria-pressed': String(isSelected), onclick: () => this.open(isSelected ? null : word) };
      return make('button', attributes, make('bdi', { class: word.special ? 'special' : '' }, word.label));
    };
    replace(this.choice, ...words.map(button));
    this.drawHeads();
    this.drawKeys();
  }

  /** Shows the heads of a source word; null hides them. */
  open(word) {
    this.selectedWord = word;
    this.openedHead = null;
    this.draw();
    if (!word || this.headParts) return;
    const { query } = this.account;
    replace(this.title, t('account_open_waits'));
    this.latest.load(
      JSON.stringify(query),
      (signal) => callWithRetry(this.server.account_heads, query, null, null, signal),
      ({ heads }) => {
        this.headParts = heads;
        this.draw();
      },
    );
  }

  drawHeads() {
    const isLoaded = Boolean(this.selectedWord && this.headParts);
    replace(this.title, ...(isLoaded ? fillElements(t('account_heads_title'), this.nameElements()) : []));
    const parts = isLoaded
      ? largestParts(sumByHead(this.headParts, this.selectedWord.places), (count) => t('account_other_heads', { count }))
      : [];
    const onOpen = ({ layer, head }) => this.openHead({ layer, head });
    const isOpen = ({ layer, head }) => layer === this.openedHead?.layer && head === this.openedHead?.head;
    replace(this.heads, ...partRows(parts, { onOpen, isOpen }));
  }

  openHead(head) {
    this.openedHead = head;
    this.draw();
    const query = { ...this.account.query, ...head };
    this.latestKeys.load(
      JSON.stringify(query),
      (signal) => callWithRetry(this.server.account_keys, query, null, null, signal),
      ({ keys }) => {
        this.openedHead = { ...head, keys };
        this.draw();
      },
    );
  }

  drawKeys() {
    const { openedHead: head, account } = this;
    replace(this.keysTitle, ...(head ? fillElements(t('account_keys_title', { head: shortName(head) }), this.nameElements()) : []));
    if (!head?.keys) return replace(this.keys);
    const parts = largestParts(sumByKeyWord(head.keys, account.words, this.selectedWord.places), (count) =>
      t('account_other_words', { count }),
    );
    const onOpen = ({ column }) =>
      set({ tab: 'heads', kind: 'cross', layer: head.layer, head: head.head, row: account.query.place, column });
    return replace(this.keys, ...partRows(parts, { onOpen, isOpen: () => false }));
  }

  /** The names of the source word and of the target word as elements, for phrases. */
  nameElements() {
    const { translation, word } = this.account;
    const name = (label, lang) => make('b', {}, make('bdi', { lang: lang || null }, label));
    return { source: name(this.selectedWord.label, translation.model.source), word: name(word, translation.model.target) };
  }
}
