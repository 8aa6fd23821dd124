// Controls of an experiment. Unchanged controls are reused, so that a slider can be dragged without interruption.

import { make, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { hasPhrase, t } from '../core/i18n.js';
import { labelText } from './labels.js';
import { resolveValues } from './control-values.js';

/** @typedef {import('./control-values.js').Control} Control */

export class Controls {
  /** `change(control, value)` is called when the visitor changes a value. */
  constructor(change) {
    this.change = change;
    this.drawnKey = '';
    this.element = make('div', { class: 'lesson-controls', hidden: true });
  }

  /** Draws the controls of a step. `set`: their values; `tokenLabels`: labels of the words in multiple-choice controls, by name. */
  draw({ lesson, name, experiment }, set, tokenLabels) {
    const { controls } = experiment;
    this.element.hidden = !controls.length;
    const focused = this.element.contains(document.activeElement) ? document.activeElement?.getAttribute('data-control') : null;
    const key = JSON.stringify([lesson, name, state.language]);
    const oldParts = key === this.drawnKey ? this.parts : [];
    this.drawnKey = key;
    this.parts = controls.map((control, index) => {
      const labels = JSON.stringify(tokenLabels[control.name] ?? []);
      return oldParts[index]?.optionsKey === labels
        ? oldParts[index]
        : { optionsKey: labels, ...this.part(lesson, control, tokenLabels[control.name] ?? []) };
    });
    if (this.parts.some((part, index) => part !== oldParts[index])) {
      for (const [index, { element }] of this.parts.entries()) if (oldParts[index]) oldParts[index].element.replaceWith(element);
      if (!oldParts.length) replace(this.element, ...this.parts.map(({ element }) => element));
      const newControl = focused ? this.element.querySelector(`[data-control="${focused}"]`) : null;
      if (newControl && newControl !== document.activeElement) /** @type {any} */ (newControl).focus({ preventScroll: true });
    }
    this.showPending(set);
  }

  /** Whether the displayed controls belong to a step. */
  belongsTo({ lesson, name }) {
    return this.drawnKey === JSON.stringify([lesson, name, state.language]);
  }

  hide() {
    this.element.hidden = true;
  }

  /** Show new values immediately, before the result is available. */
  showPending(set) {
    if (this.element.hidden) return;
    const values = resolveValues(
      this.parts.map(({ control }) => control),
      set,
    );
    for (const { control, element, setValue } of this.parts) {
      element.hidden = Boolean(control.visible_if) && values[control.visible_if[0]] !== control.visible_if[1];
      setValue(values[control.name]);
    }
  }

  part(lesson, control, labels) {
    const change = (value) => this.change(control, value);
    return { control, ...PARTS[control.form](control, lesson, change, labels) };
  }
}

const controlName = (lesson, { name }) => t(`lesson_${lesson}_control_${name}`);

/** Phrase of an option; options without a phrase, such as numbers, are shown as they are. */
function optionName(lesson, { name }, option) {
  const key = `lesson_${lesson}_control_${name}_${option}`;
  return hasPhrase(key) ? t(key) : option;
}

const PARTS = {
  /** Single choice, as buttons, a slider or a menu. */
  choice(control, lesson, change) {
    const { options, as_slider, as_menu, name } = control;
    const label = controlName(lesson, control);
    if (as_slider) {
      const { element, input, setValue } = sliderControl(label, name, { low: 0, high: options.length - 1, step: 1 }, (index) =>
        optionName(lesson, control, options[index]),
      );
      input.addEventListener('input', () => change(options[Number(input.value)]));
      return { element, setValue: (value) => setValue(options.indexOf(value)) };
    }
    if (as_menu) {
      const entries = options.map((option) => make('option', { value: option }, optionName(lesson, control, option)));
      const select = make('select', { 'aria-label': label, data: { control: name }, onchange: () => change(select.value) }, ...entries);
      return { element: labelled(label, [select]), setValue: (value) => Object.assign(select, { value }) };
    }
    const buttons = options.map((option) =>
      make(
        'button',
        { type: 'button', data: { control: `${name} ${option}` }, onclick: () => change(option) },
        optionName(lesson, control, option),
      ),
    );
    const group = make('div', { class: 'segments', role: 'group', 'aria-label': label }, ...buttons);
    const setValue = (value) => {
      for (const [index, button] of buttons.entries()) button.setAttribute('aria-pressed', String(options[index] === value));
    };
    return { element: labelled(label, [group]), setValue };
  },

  switch(control, lesson, change) {
    const input = make('input', { type: 'checkbox', role: 'switch', data: { control: control.name } });
    input.addEventListener('change', () => change(input.checked));
    const element = make('label', { class: 'switched' }, input, make('span', {}, controlName(lesson, control)));
    return { element, setValue: (value) => Object.assign(input, { checked: value }) };
  },

  slider(control, lesson, change) {
    const { element, input, setValue } = sliderControl(controlName(lesson, control), control.name, control, String);
    input.addEventListener('input', () => change(Number(input.value)));
    return { element, setValue };
  },

  button(control, lesson, change) {
    let currentValue = 0;
    const attributes = {
      type: 'button',
      class: 'pressed',
      data: { control: control.name },
      onclick: () => change((currentValue + 1) % (control.max_presses + 1)),
    };
    const element = make('button', attributes);
    const setValue = (value) => {
      currentValue = value;
      element.textContent = t(`lesson_${lesson}_control_${control.name}`, { value });
    };
    return { element, setValue };
  },

  /** Multiple choice of words; no button for a null label. */
  places(control, lesson, change, labels) {
    let selected = [];
    const label = controlName(lesson, control);
    const toggle = (index) =>
      change(
        selected.includes(index) ? selected.filter((selectedIndex) => selectedIndex !== index) : [...selected, index].sort((a, b) => a - b),
      );
    const buttons = labels.map((text, index) => {
      const attributes = { type: 'button', data: { control: `${control.name} ${index}` }, onclick: () => toggle(index) };
      return text === null ? null : make('button', attributes, make('bdi', {}, labelText(lesson, text)));
    });
    const setValue = (value) => {
      selected = value;
      for (const [index, button] of buttons.entries()) button?.setAttribute('aria-pressed', String(value.includes(index)));
    };
    const attributes = { class: control.adds_selected ? 'places adds' : 'places', role: 'group', 'aria-label': label };
    return { element: labelled(label, [make('div', attributes, ...buttons)], true), setValue };
  },

  text(control, lesson, change) {
    const label = controlName(lesson, control);
    const input = make('input', {
      type: 'text',
      maxlength: control.max_length,
      'aria-label': label,
      data: { control: control.name },
      autocomplete: 'off',
    });
    input.addEventListener('input', () => change(input.value));
    const setValue = (value) => {
      if (document.activeElement !== input) input.value = value; // keep text that is being typed
    };
    return { element: labelled(label, [input], true), setValue };
  },
};

function labelled(label, parts, isWide = false) {
  const name = make('span', { class: 'control-name', 'aria-hidden': 'true' }, label);
  return make('div', { class: isWide ? 'control wide' : 'control' }, name, ...parts);
}

function sliderControl(label, name, { low, high, step }, write) {
  const input = make('input', { type: 'range', min: low, max: high, step, 'aria-label': label, data: { control: name } });
  const output = make('span', { class: 'numeric held' });
  const setValue = (value) => {
    if (document.activeElement !== input || Number(input.value) !== value) input.value = String(value);
    input.style.setProperty('--share', `${(100 * (value - low)) / Math.max(1, high - low)}%`);
    output.textContent = write(value);
    input.setAttribute('aria-valuetext', write(value));
  };
  return { element: labelled(label, [input, output]), input, setValue };
}
