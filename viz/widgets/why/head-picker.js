// Selects the head to explain by kind, layer and number, or by stepping through all heads.

import { KINDS } from '../core/translation.js';
import { make, replace } from '../core/dom.js';
import { pageStore, set, state } from '../core/state.js';
import { t } from '../core/i18n.js';
import { chooseKind } from '../parts/kind-buttons.js';
import { stepButtons } from '../parts/step-buttons.js';

export class HeadPicker {
  /** `onKindChange()` is called before the kind changes, because the selected query and key belong to the old one. */
  constructor(onKindChange) {
    this.onKindChange = onKindChange;
    this.kinds = make('div', { class: 'segments', role: 'group' });
    const [previous, next] = stepButtons(stepHead);
    this.previous = previous;
    this.next = next;
    this.layerMenu = make('select', { onchange: () => set({ layer: toIndex(this.layerMenu.value) }) });
    this.headMenu = make('select', { onchange: () => set({ head: toIndex(this.headMenu.value) }) });
    this.layerLabel = make('span', {});
    this.headLabel = make('span', {});
    this.controls = make('div', { class: 'which' }, previous, next);
    this.controls.append(make('label', {}, this.layerLabel, this.layerMenu), make('label', {}, this.headLabel, this.headMenu));
  }

  draw() {
    const { translation, kind, layer, head } = state;
    this.kinds.setAttribute('aria-label', t('kinds'));
    replace(this.kinds, ...KINDS.map((name) => this.kindButton(name, name === kind)));
    this.previous.setAttribute('aria-label', t('why_previous'));
    this.next.setAttribute('aria-label', t('why_next'));
    this.layerLabel.textContent = t('why_layer');
    this.headLabel.textContent = t('why_head');
    fillMenu(this.layerMenu, translation.layers(kind), layer);
    fillMenu(this.headMenu, translation.heads(kind), head);
  }

  kindButton(kind, isSelected) {
    const attributes = { type: 'button', 'aria-pressed': String(isSelected), data: { kind } };
    return make('button', { ...attributes, onclick: () => this.selectKind(kind) }, t(`kind_${kind}_short`));
  }

  selectKind(kind) {
    if (kind !== state.kind) {
      this.onKindChange();
      chooseKind(pageStore, state.translation, kind);
    }
    this.kinds.querySelector(`[data-kind=${kind}]`).focus({ preventScroll: true });
  }

  focus() {
    this.headMenu.focus({ preventScroll: true });
  }
}

/** Selects the head `step` positions further in all layers of the kind; a mean or maximum counts as the first head. */
function stepHead(step) {
  const { translation, kind } = state;
  const headsPerLayer = translation.heads(kind);
  const [layer, head] = [state.layer, state.head].map((index) => (typeof index === 'number' ? index : 0));
  const headCount = headsPerLayer * translation.layers(kind);
  const index = (layer * headsPerLayer + head + step + headCount) % headCount;
  set({ layer: Math.floor(index / headsPerLayer), head: index % headsPerLayer, preview: null });
}

const toIndex = (text) => (/^\d+$/.test(text) ? Number(text) : text);

/** Fills a menu with indices. A mean or maximum is an option only while it is selected. */
function fillMenu(select, count, value) {
  const options = [...Array(count).keys()].map((number) => make('option', { value: number }, number + 1));
  if (typeof value !== 'number') options.push(make('option', { value }, t(`why_${value}`)));
  replace(select, ...options);
  select.value = value;
}
