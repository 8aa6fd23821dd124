// Model, beam, length penalty, sampling, one's own translation: folded away until wanted.

import { make } from './dom.js';
import { languageName, t } from './words.js';

const NUMBERS = {
  beam_size: { min: 1, step: 1 },
  length_penalty: { min: 0, max: 10, step: 0.1 },
  temperature: { min: 0, max: 10, step: 0.1 },
  seed: { min: 0, max: 2 ** 31, step: 1 },
};

export function mountOptions(config, submit) {
  const element = make('div', { class: 'options', id: 'options', hidden: true });
  const fields = {};
  const add = (name, input, wide = '') => {
    const label = make('span', {});
    const error = make('span', { class: 'error', role: 'alert' });
    element.append(make('label', { class: wide }, label, input, error));
    fields[name] = { input, label, error };
  };
  const model = make('select', { data: { field: 'model' } });
  add('model', model, 'wide');
  for (const [name, limits] of Object.entries(NUMBERS)) {
    const bounds = name === 'beam_size' ? { ...limits, max: config.limits.beam } : limits;
    add(name, make('input', { type: 'number', class: 'numeric', ...bounds, value: config.usual[name], data: { field: name } }));
  }
  add('target', make('input', { type: 'text', dir: 'auto', data: { field: 'target' } }), 'widest');
  element.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && event.target.tagName === 'INPUT' && !event.isComposing) submit();
  });

  const { beam_size: beam, temperature } = fields;
  const follow = () => (beam.input.disabled = Number(temperature.input.value) > 0);
  temperature.input.addEventListener('input', follow);

  const number = (input) => (input.value.trim() === '' ? null : Number(input.value));
  return {
    element,
    values() {
      const given = Object.fromEntries(Object.keys(NUMBERS).map((name) => [name, number(fields[name].input)]));
      for (const name of Object.keys(given)) if (given[name] === null) given[name] = config.usual[name];
      if (given.temperature > 0) given.beam_size = 1; // chance and search exclude each other
      return { ...given, model: model.value || config.usual.model, target: fields.target.input.value.trim() || null, prefix: null };
    },
    set(values) {
      for (const name of Object.keys(NUMBERS)) fields[name].input.value = values[name];
      fields.target.input.value = typeof values.target === 'string' ? values.target : '';
      follow();
      this.setModel(values.model);
    },
    setModel(name) {
      if (config.models.some((each) => each.name === name)) model.value = name;
    },
    fail(field, says) {
      if (!fields[field]) return false;
      fields[field].error.textContent = says;
      return true;
    },
    clear() {
      for (const { error } of Object.values(fields)) error.textContent = '';
    },
    draw() {
      const chosen = model.value || config.usual.model;
      const name = ({ name, source, target }) => t('model_pair', { source: languageName(source), target: languageName(target), name });
      model.replaceChildren(...config.models.map((each) => make('option', { value: each.name }, name(each))));
      model.value = chosen;
      for (const [field, { label }] of Object.entries(fields)) label.textContent = t(`option_${field}`);
      fields.target.input.placeholder = t('option_target_placeholder');
    },
  };
}
