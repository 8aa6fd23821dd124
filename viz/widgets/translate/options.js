// Options: beam size, length penalty, sampling and a custom target; collapsed by default.

import { make } from '../core/dom.js';
import { state } from '../core/state.js';
import { t } from '../core/i18n.js';

/** Functions that create a control by kind of option: {input, event, read(), write(value)}. */
const CONTROLS = {
  whole: ({ low, high }) => makeNumberControl({ min: low, max: high, step: 1 }),
  real: ({ low, high, step }) => makeNumberControl({ min: low, max: high, step }),
  switch: () => {
    const input = make('input', { type: 'checkbox' });
    return { input, event: 'change', read: () => input.checked, write: (value) => (input.checked = Boolean(value)) };
  },
  choice: ({ name, choices }) => {
    const options = choices.map((value) => make('option', { value }));
    const input = make('select', {}, ...options);
    const draw = () => options.forEach((option) => (option.textContent = t(`${name}_${option.value}`)));
    return { input, event: 'change', read: () => input.value, write: (value) => (input.value = value ?? choices[0]), draw };
  },
};

function makeNumberControl(limits) {
  const input = make('input', { type: 'number', class: 'numeric', ...limits });
  const read = () => (input.value.trim() === '' ? undefined : Number(input.value));
  return { input, event: 'input', read, write: (value) => (input.value = value ?? '') };
}

export function mountOptions(config, submit) {
  const element = make('div', { class: 'options', id: 'options', hidden: true });
  const fields = {};
  const changedNames = new Set(); // set by the visitor; kept when the model changes
  // A shared line for all number errors; its height is fixed, so that the layout does not shift.
  const errors = make('div', { class: 'faults' });
  const add = (name, input, className = '') => {
    const label = make('span', {});
    const error = make('span', { class: 'error', role: 'alert', id: `option-${name}-error` });
    input.setAttribute('aria-describedby', error.id);
    element.append(make('label', { class: className }, label, input));
    errors.append(error);
    fields[name] = { input, label, error };
  };
  const names = config.options.map(({ name }) => name);
  for (const row of config.options) {
    const { name } = row;
    const control = CONTROLS[row.kind](row);
    control.input.dataset.field = name;
    control.write(config.defaults[name]);
    control.input.addEventListener(control.event, () =>
      control.read() === undefined ? changedNames.delete(name) : changedNames.add(name),
    );
    add(name, control.input);
    Object.assign(fields[name], control);
  }
  element.append(errors);
  add('target', make('input', { type: 'text', dir: 'auto', data: { field: 'target' } }), 'widest');
  element.append(make('div', { class: 'faults' }, fields.target.error));
  element.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && event.target.tagName === 'INPUT' && !event.isComposing) submit();
  });

  const { beam_size: beam, temperature, back_weight: weight } = fields;
  const target = fields.target.input;
  let beamBeforeSampling = config.defaults.beam_size; // beam size to restore when sampling ends
  let hasReverseModel = config.defaults.back_weight > 0; // whether a reverse model is available
  const updateControls = () => {
    const isSampling = Number(temperature.input.value) > 0;
    if (isSampling && !beam.input.disabled) [beamBeforeSampling, beam.input.value] = [beam.input.value, 1];
    if (!isSampling && beam.input.disabled) beam.input.value = beamBeforeSampling;
    beam.input.disabled = isSampling;
    const hasOneHypothesis = beam.read() <= 1 || target.value.trim() !== '';
    if (!weight) return;
    weight.input.disabled = !hasReverseModel || hasOneHypothesis;
    note.textContent = weight.input.disabled ? t('option_back_weight_off') : '';
  };
  const note = make('span', { class: 'note', id: 'option-back_weight-note' });
  errors.prepend(note);
  weight?.input.setAttribute('aria-describedby', `${weight.error.id} ${note.id}`);
  for (const input of [temperature.input, beam.input, target]) input.addEventListener('input', updateControls);
  const setOption = (name, value) => {
    changedNames.add(name);
    fields[name].write(value);
  };

  return {
    element,
    /** Options of a request: the model's known defaults, overridden by the visitor's changes. */
    values(model) {
      const values = { ...state.modelDefaults[model] };
      for (const name of changedNames) values[name] = fields[name].read();
      if (values.temperature > 0) values.beam_size = 1; // sampling needs a beam of 1
      return { ...values, target: target.value.trim() || null, prefix: null };
    },
    /** Apply values from a link or another tab; those that differ from the defaults count as changed by the visitor. */
    change(values, defaults = {}) {
      for (const name of names) if (values[name] !== undefined && values[name] !== defaults[name]) setOption(name, values[name]);
    },
    /** Reset one option, or all of them, to the model's defaults. */
    resetOption(name) {
      if (name) changedNames.delete(name);
      else changedNames.clear();
    },
    /** Show the options of a request or link; numbers that are known only after the translation stay empty. */
    set(values) {
      temperature.input.value = values.temperature ?? 0;
      updateControls();
      for (const name of names) fields[name].write(values[name]);
      target.value = typeof values.target === 'string' ? values.target : '';
      updateControls();
    },
    /** Show the defaults of the model that answered, except for options changed by the visitor. */
    setAnswered(defaults) {
      hasReverseModel = defaults.back_weight > 0;
      for (const name of names) {
        const isFixedBySampling = fields[name] === beam && beam.input.disabled;
        if (!changedNames.has(name) && !isFixedBySampling && name in defaults) fields[name].write(defaults[name]);
      }
      updateControls();
    },
    clearTarget() {
      target.value = '';
      updateControls();
    },
    showError(field, message) {
      if (!fields[field]) return false;
      fields[field].error.textContent = message;
      fields[field].input.setAttribute('aria-invalid', 'true');
      return true;
    },
    clear() {
      for (const { error, input } of Object.values(fields)) {
        error.textContent = '';
        input.removeAttribute('aria-invalid');
      }
    },
    draw() {
      for (const [field, { label, draw }] of Object.entries(fields)) {
        label.textContent = t(`option_${field}`);
        draw?.();
      }
      updateControls();
      target.placeholder = t('option_target_placeholder');
    },
  };
}
