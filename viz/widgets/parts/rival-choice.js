// The rival of a word: buttons for the likeliest other tokens, and a field for any token of the vocabulary.

import { callWithRetry } from '../core/boot.js';
import { make } from '../core/dom.js';
import { reconcile } from '../core/reconcile.js';
import { set } from '../core/state.js';
import { otherTokens } from '../core/translation.js';
import { LatestRequest } from '../core/latest-request.js';
import { t } from '../core/i18n.js';

const MAX_RIVALS = 3; // likeliest tokens with a button

export class RivalChoice {
  /**
   * @param {import('../core/server.js').Server} server
   * @param {(probability: number) => string} [formatProbability] text of a rival's probability on its button; default: no probability
   */
  constructor(server, formatProbability) {
    this.server = server;
    this.formatProbability = formatProbability;
    this.buttons = make('div', { class: 'segments', role: 'group' });
    const field = { type: 'text', size: 10, enterkeyhint: 'go', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false' };
    this.field = make('input', field);
    const form = make('form', { hidden: !server.name_rival }, this.field);
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.find(this.field.value);
    });
    this.name = make('span', { class: 'quiet' });
    this.error = make('p', { class: 'error', role: 'alert' });
    this.element = make('div', { class: 'rivals' }, this.name, this.buttons, form, this.error);
    this.latest = new LatestRequest(form, this.error, 'error_our_fault');
    /** @type {any} */
    this.translation = null;
    this.place = 0;
    this.word = ''; // key of the translation and the token's position
  }

  /**
   * @param {any} translation
   * @param {number} place
   * @param {{ rival: any, name: string, none?: boolean }} options `rival`: the selected one, {id, label, probability?}, or
   *   null; `none`: whether it can be null
   */
  draw(translation, place, { rival, name, none = false }) {
    const word = JSON.stringify([translation.requestValues(), place]);
    if (word !== this.word) this.clear();
    Object.assign(this, { translation, place, word });
    const others = otherTokens(translation.target[place])
      .slice(0, MAX_RIVALS)
      .map(([label, id, probability]) => ({ id, label, probability }));
    const isTyped = rival && !others.some(({ id }) => id === rival.id);
    this.name.textContent = name;
    this.buttons.setAttribute('aria-label', t('account_rivals'));
    const choices = [...(none ? [{ id: null, label: t('effects_no_rival') }] : []), ...others, ...(isTyped ? [rival] : [])];
    reconcile(this.buttons, ...choices.map((choice) => this.button(choice, rival?.id ?? null)));
    this.field.placeholder = t('rival_other');
    this.field.setAttribute('aria-label', t('rival_field'));
  }

  button({ id, label, probability }, selected) {
    const attributes = { type: 'button', 'aria-pressed': String(id === selected), onclick: () => this.choose(id) };
    const lang = id === null ? null : this.translation.model.target || null;
    const number = probability !== undefined && this.formatProbability?.(probability);
    return make('button', attributes, make('bdi', { lang }, label), ...(number ? [' ', make('span', { class: 'numeric' }, number)] : []));
  }

  clear() {
    this.latest.cancel();
    this.field.value = this.error.textContent = '';
  }

  choose(id) {
    this.clear();
    set({ rival: { place: this.place, id } });
  }

  /** Looks up a typed word. */
  find(text) {
    if (!text.trim()) return;
    const query = { request: this.translation.requestValues(), place: this.place, rival: text };
    this.latest.load(
      JSON.stringify(query),
      (signal) => callWithRetry(this.server.name_rival, query, null, null, signal),
      ({ id }) => this.choose(id),
    );
  }
}
