// Colours the head wall by a measure: each tile shows a colour and a number instead of a map.

import { make, replace } from '../core/dom.js';
import { set, state } from '../core/state.js';
import { cssColour, textColourOn, scaleColour } from '../core/theme.js';
import { t } from '../core/i18n.js';
import { makeColourRamp } from '../parts/legend.js';
import { measureNames, listMeasures, measureScale } from '../parts/measures.js';

const MAPS = 'maps';

/** Formats a number for a tile: ".98", "2.1". */
export function formatTile(value, unit) {
  if (value !== value) return '–';
  return unit === 'share' ? value.toFixed(2).replace(/^0/, '') : value.toFixed(1);
}

export class MeasureWall {
  /** `view`: the head view whose wall is coloured. */
  constructor(view) {
    this.view = view;
    this.name = make('span', {});
    this.menu = make('select', { onchange: () => set({ measure: this.menu.value }) });
    this.legend = make('span', { class: 'key' });
    this.description = make('p', { class: 'quiet', hidden: true });
    this.element = make('div', { class: 'colouring' }, make('label', {}, this.name, this.menu), this.legend, this.description);
  }

  /** The selected measure, or maps if the current kind lacks it. */
  get measure() {
    return measureNames(state.translation, state.kind).includes(state.measure) ? state.measure : MAPS;
  }

  draw() {
    const { measure } = this;
    const names = [MAPS, ...measureNames(state.translation, state.kind)];
    this.element.hidden = names.length === 1;
    this.name.textContent = t('wall_shows');
    replace(this.menu, ...names.map((name) => make('option', { value: name }, t(`measure_${name}`))));
    this.menu.value = measure;
    const { element } = this.view.grid;
    element.classList.toggle('coloured', measure !== MAPS);
    this.description.hidden = measure === MAPS;
    if (measure === MAPS) {
      replace(this.legend);
      for (const button of this.view.grid.buttons()) resetTile(button);
      return;
    }
    const measures = listMeasures(state.translation, state.kind);
    const { unit, high, level } = measureScale(state.translation, state.kind, measure);
    this.description.textContent = t(`measure_${measure}_says`);
    replace(this.legend, makeColourRamp(state.palette, '0', unit === 'share' ? '1' : t(`unit_${unit}`, { number: high.toFixed(1) })));
    for (const button of this.view.grid.buttons()) {
      const value = measures[Number(button.dataset.layer)]?.[Number(button.dataset.head)]?.[measure];
      if (value === undefined) resetTile(button);
      else colourTile(button, formatTile(value, unit), level(value));
    }
  }
}

export function colourTile(button, text, level, palette = state.palette) {
  const rgb = level === level ? scaleColour(palette, level) : null;
  button.dataset.value = text;
  button.style.backgroundColor = rgb ? cssColour(rgb) : '';
  button.style.color = rgb ? textColourOn(rgb) : '';
}

export function resetTile(button) {
  delete button.dataset.value;
  button.style.backgroundColor = button.style.color = '';
}
