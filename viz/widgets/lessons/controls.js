// The controls of an experiment. They are reused while active: a dragged slider is not rendered again.

import { make, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { hasPhrase, t } from '../core/i18n.js';
import { labelText } from './labels.js';
import { valuesOf } from './control-values.js';

/** @typedef {import('./control-values.js').Control} Control */

export class Controls {
  /** `change(control, value)`. */
  constructor(change) {
    this.change = change;
    this.drawn = '';
    this.element = make('div', { class: 'lesson-controls', hidden: true });
  }

  /** `shown`: what places choose among, by the control's name. */
  draw({ lesson, name, experiment }, set, shown) {
    const { controls } = experiment;
    this.element.hidden = !controls.length;
    const focused = this.element.contains(document.activeElement) ? document.activeElement?.getAttribute('data-control') : null;
    const key = JSON.stringify([lesson, name, state.language]);
    const old = key === this.drawn ? this.parts : [];
    this.drawn = key;
    this.parts = controls.map((control, place) => {
      const about = JSON.stringify(shown[control.name] ?? []);
      return old[place]?.about === about ? old[place] : { about, ...this.part(lesson, control, shown[control.name] ?? []) };
    });
    if (this.parts.some((part, place) => part !== old[place])) {
      for (const [place, { element }] of this.parts.entries()) if (old[place]) old[place].element.replaceWith(element);
      if (!old.length) replace(this.element, ...this.parts.map(({ element }) => element));
      const again = focused ? this.element.querySelector(`[data-control="${focused}"]`) : null;
      if (again && again !== document.activeElement) /** @type {any} */ (again).focus({ preventScroll: true });
    }
    this.showPending(set);
  }

  /** Whether they are those of a step. */
  belongsTo({ lesson, name }) {
    return this.drawn === JSON.stringify([lesson, name, state.language]);
  }

  hide() {
    this.element.hidden = true;
  }

  /** Show a new value at once. */
  showPending(set) {
    if (this.element.hidden) return;
    const values = valuesOf(
      this.parts.map(({ control }) => control),
      set,
    );
    for (const { control, element, hold } of this.parts) {
      element.hidden = Boolean(control.visible_if) && values[control.visible_if[0]] !== control.visible_if[1];
      hold(values[control.name]);
    }
  }

  part(lesson, control, shown) {
    const change = (value) => this.change(control, value);
    return { control, ...PARTS[control.form](control, lesson, change, shown) };
  }
}

const nameOf = (lesson, { name }) => t(`lesson_${lesson}_control_${name}`);

/** An option in words, or as it stands: a number, a name of one. */
function optionOf(lesson, { name }, option) {
  const key = `lesson_${lesson}_control_${name}_${option}`;
  return hasPhrase(key) ? t(key) : option;
}

const PARTS = {
  /** A few side by side, along a line, or in a menu. */
  choice(control, lesson, change) {
    const { options, as_slider, as_menu, name } = control;
    const said = nameOf(lesson, control);
    if (as_slider) {
      const { element, input, hold } = sliderControl(said, name, { low: 0, high: options.length - 1, step: 1 }, (place) =>
        optionOf(lesson, control, options[place]),
      );
      input.addEventListener('input', () => change(options[Number(input.value)]));
      return { element, hold: (value) => hold(options.indexOf(value)) };
    }
    if (as_menu) {
      const entries = options.map((option) => make('option', { value: option }, optionOf(lesson, control, option)));
      const select = make('select', { 'aria-label': said, data: { control: name }, onchange: () => change(select.value) }, ...entries);
      return { element: labelled(said, [select]), hold: (value) => Object.assign(select, { value }) };
    }
    const buttons = options.map((option) =>
      make(
        'button',
        { type: 'button', data: { control: `${name} ${option}` }, onclick: () => change(option) },
        optionOf(lesson, control, option),
      ),
    );
    const group = make('div', { class: 'segments', role: 'group', 'aria-label': said }, ...buttons);
    const hold = (value) => {
      for (const [place, button] of buttons.entries()) button.setAttribute('aria-pressed', String(options[place] === value));
    };
    return { element: labelled(said, [group]), hold };
  },

  switch(control, lesson, change) {
    const input = make('input', { type: 'checkbox', role: 'switch', data: { control: control.name } });
    input.addEventListener('change', () => change(input.checked));
    const element = make('label', { class: 'switched' }, input, make('span', {}, nameOf(lesson, control)));
    return { element, hold: (value) => Object.assign(input, { checked: value }) };
  },

  slider(control, lesson, change) {
    const { element, input, hold } = sliderControl(nameOf(lesson, control), control.name, control, String);
    input.addEventListener('input', () => change(Number(input.value)));
    return { element, hold };
  },

  button(control, lesson, change) {
    let now = 0;
    const about = {
      type: 'button',
      class: 'pressed',
      data: { control: control.name },
      onclick: () => change((now + 1) % (control.max_presses + 1)),
    };
    const element = make('button', about);
    const hold = (value) => {
      now = value;
      element.textContent = t(`lesson_${lesson}_control_${control.name}`, { value });
    };
    return { element, hold };
  },

  /** Words of a text, each on or off; a place without one is not offered. */
  places(control, lesson, change, shown) {
    let now = [];
    const said = nameOf(lesson, control);
    const turn = (place) =>
      change(now.includes(place) ? now.filter((each) => each !== place) : [...now, place].sort((one, other) => one - other));
    const buttons = shown.map((label, place) => {
      const about = { type: 'button', data: { control: `${control.name} ${place}` }, onclick: () => turn(place) };
      return label === null ? null : make('button', about, make('bdi', {}, labelText(lesson, label)));
    });
    const hold = (value) => {
      now = value;
      for (const [place, button] of buttons.entries()) button?.setAttribute('aria-pressed', String(value.includes(place)));
    };
    const about = { class: control.adds_selected ? 'places adds' : 'places', role: 'group', 'aria-label': said };
    return { element: labelled(said, [make('div', about, ...buttons)], true), hold };
  },

  text(control, lesson, change) {
    const said = nameOf(lesson, control);
    const input = make('input', {
      type: 'text',
      maxlength: control.max_length,
      'aria-label': said,
      data: { control: control.name },
      autocomplete: 'off',
    });
    input.addEventListener('input', () => change(input.value));
    const hold = (value) => {
      if (document.activeElement !== input) input.value = value; // keep text that is being typed
    };
    return { element: labelled(said, [input], true), hold };
  },
};

function labelled(said, parts, wide = false) {
  const name = make('span', { class: 'control-name', 'aria-hidden': 'true' }, said);
  return make('div', { class: wide ? 'control wide' : 'control' }, name, ...parts);
}

function sliderControl(said, name, { low, high, step }, write) {
  const input = make('input', { type: 'range', min: low, max: high, step, 'aria-label': said, data: { control: name } });
  const output = make('span', { class: 'numeric held' });
  const hold = (value) => {
    if (document.activeElement !== input || Number(input.value) !== value) input.value = String(value);
    input.style.setProperty('--share', `${(100 * (value - low)) / Math.max(1, high - low)}%`);
    output.textContent = write(value);
    input.setAttribute('aria-valuetext', write(value));
  };
  return { element: labelled(said, [input, output]), input, hold };
}
