// Model menu: bundled models, language pairs from the Hub, and any other model by ID.

import { make } from '../core/dom.js';
import { set, state } from '../core/state.js';
import { errorText, t } from '../core/i18n.js';
import { byPair, kindName, pairName, formatSize } from '../parts/model-names.js';
import { HubAway } from '../parts/hubaway.js';
import { ListBox } from '../parts/list-box.js';

const ID = /^[A-Za-z0-9_][A-Za-z0-9._-]*\/[A-Za-z0-9_][A-Za-z0-9._-]*(@[A-Za-z0-9_][A-Za-z0-9._/-]*)?$/;
const ADDRESS = /^(?:https?:\/\/)?huggingface\.co\//i; // URL copied from a browser

export class ModelMenu {
  /** `choose` receives a model name, which may be missing from the list; `opened` is called when the menu opens. */
  constructor(config, choose, opened) {
    this.config = config;
    this.choose = choose;
    this.drawnKey = '';
    this.expandButton = make('button', { type: 'button', class: 'by-id', 'aria-expanded': 'false', 'aria-controls': 'hub-id-form' });
    this.label = make('label', { for: 'hub-id' });
    this.field = make('input', {
      id: 'hub-id',
      type: 'text',
      autocomplete: 'off',
      autocapitalize: 'off',
      spellcheck: 'false',
      dir: 'ltr',
      'aria-describedby': 'hub-id-error',
    });
    this.submitButton = make('button', { type: 'submit', class: 'link' });
    this.error = make('p', { class: 'error', id: 'hub-id-error', role: 'alert' });
    this.form = make(
      'form',
      { id: 'hub-id-form', novalidate: true, hidden: true },
      this.label,
      make('div', { class: 'line' }, this.field, this.submitButton),
      this.error,
    );
    this.away = new HubAway();
    this.byId = make('div', { class: 'end', hidden: !config.any_model }, this.expandButton, this.form);
    const entries = Object.entries({ beside: 'tab_beside', own: 'tab_own', models: 'all_models' });
    this.links = entries.map(([panel, word]) => {
      const button = make('button', { type: 'button', class: 'menu-link', data: { word, panel } });
      button.addEventListener('click', () => {
        this.picker.close();
        set({ tab: panel });
      });
      return button;
    });
    const end = make('div', { class: 'ends' }, this.away.element, this.byId, make('div', { class: 'end' }, ...this.links));
    this.picker = new ListBox(choose, { end, opened, name: 'models-picker' });
    this.element = this.picker.element;
    this.expandButton.addEventListener('click', () => this.setExpanded(this.form.hidden));
    this.field.addEventListener('input', () => this.showError(''));
    this.form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.submit();
    });
  }

  setExpanded(isExpanded) {
    this.form.hidden = !isExpanded;
    this.expandButton.setAttribute('aria-expanded', String(isExpanded));
    this.showError('');
    if (isExpanded) this.field.focus();
  }

  showError(message) {
    this.error.textContent = message;
    if (message) this.field.setAttribute('aria-invalid', 'true');
    else this.field.removeAttribute('aria-invalid');
  }

  submit() {
    const id = this.field.value.trim().replace(ADDRESS, '').replace(/\/$/, '');
    if (!ID.test(id)) {
      this.showError(errorText({ word: 'hub_bad_id', values: { given: `“${id.slice(0, 60)}”` } }));
      this.field.focus();
      return;
    }
    this.field.value = '';
    this.setExpanded(false);
    this.picker.close(true);
    this.choose(id);
  }

  /** `model`: the current model. Skips unchanged lists, because it is called on every request and answer. */
  draw(model) {
    const listedModels = this.config.models;
    const key = JSON.stringify([state.language, model, listedModels, state.hubAway]);
    if (key === this.drawnKey) return;
    this.drawnKey = key;
    for (const link of this.links) {
      link.textContent = t(link.dataset.word ?? '');
      link.hidden = !document.getElementById(`panel-${link.dataset.panel}`);
    }
    const allModels = model && !listedModels.some(({ name }) => name === model.name) ? [...listedModels, model] : listedModels;
    const bundledModels = allModels.filter(({ where }) => where === 'here');
    const hubModels = allModels.filter(({ where, downloaded }) => where === 'hub' && (downloaded || !state.hubAway)).sort(byPair);
    const duplicates = new Map();
    for (const hubModel of hubModels) duplicates.set(fullName(hubModel), (duplicates.get(fullName(hubModel)) ?? 0) + 1);
    const items = (models) => models.map((entry) => item(entry, duplicates.get(fullName(entry)) > 1));
    const groups = [
      { name: t('models_here'), items: items(bundledModels) },
      { name: t('models_hub'), items: items(hubModels) },
    ];
    this.picker.fill({
      label: t('option_model'),
      buttonText: model ? shortName(model) : '',
      groups: groups.filter((group) => group.items.length),
      selectedValue: model?.name,
    });
    this.away.draw();
    this.byId.hidden = !this.config.any_model || Boolean(state.hubAway);
    this.expandButton.textContent = t('model_by_id');
    this.label.textContent = t('model_id');
    this.field.placeholder = t('model_id_example');
    this.submitButton.textContent = t('model_id_look');
  }
}

/** The language pair of a model that is named after it ("de-en"), else the model's name. */
const shortName = (model) => (model.name === `${model.source}-${model.target}` && pairName(model)) || kindName(model);

const fullName = (model) => `${pairName(model)} · ${kindName(model)}`;

/** A menu item. `isDuplicate`: whether another model has the same pair and family; then the item shows the ID. */
function item(model, isDuplicate) {
  const { name, downloaded, bytes } = model;
  const kind = isDuplicate ? name : kindName(model);
  const size = bytes ? formatSize(bytes) : '';
  const text = pairName(model) || kind;
  const more = pairName(model) ? kind : model.where === 'hub' ? t('model_many') : '';
  const fullText = [text, more].filter(Boolean).join(' · ');
  const message = downloaded ? fullText : t('model_to_download', { model: fullText, size });
  return { value: name, text, more, mark: downloaded ? '' : t('model_mark', { size }).trim(), description: message };
}
