// Selects the head to explain by kind, layer and number, or by stepping through all heads.

import { KINDS } from '../core/translation.js';
import { make, replace } from '../core/dom.js';
import { pageStore, set, state } from '../core/state.js';
import { t } from '../core/i18n.js';
import { chooseKind } from '../parts/kind-buttons.js';
import { stepButtons } from '../parts/step-buttons.js';

export class HeadPicker {
  /** `onKindChange()` is called before the kind changes, which invalidates the selected query and key. */
  constructor(onKindChange) {
    this.onKindChange = onKindChange;
    this.kinds = make('div', { class: 'segments', role: 'group' });
    const [previous, next] = stepButtons(stepHead);
    this.previous = previous;
    this.next = next;
    this.layer = make('select', { onchange: () => set({ layer: toIndex(this.layer.value) }) });
    this.head = make('select', { onchange: () => set({ head: toIndex(this.head.value) }) });
    this.layerName = make('span', {});
    this.headName = make('span', {});
    this.pickers = make('div', { class: 'which' }, previous, next);
    this.pickers.append(make('label', {}, this.layerName, this.layer), make('label', {}, this.headName, this.head));
  }

  draw() {
    const { translation, kind, layer, head } = state;
    this.kinds.setAttribute('aria-label', t('kinds'));
    replace(this.kinds, ...KINDS.map((item) => this.kindButton(item, item === kind)));
    this.previous.setAttribute('aria-label', t('why_previous'));
    this.next.setAttribute('aria-label', t('why_next'));
    this.layerName.textContent = t('why_layer');
    this.headName.textContent = t('why_head');
    fill(this.layer, translation.layers(kind), layer);
    fill(this.head, translation.heads(kind), head);
  }

  kindButton(kind, isSelected) {
    const attributes = { type: 'button', 'aria-pressed': String(isSelected), data: { kind } };
    return make('button', { ...attributes, onclick: () => this.pickKind(kind) }, t(`kind_${kind}_short`));
  }

  pickKind(kind) {
    if (kind !== state.kind) {
      this.onKindChange();
      chooseKind(pageStore, state.translation, kind);
    }
    this.kinds.querySelector(`[data-kind=${kind}]`).focus({ preventScroll: true });
  }

  focus() {
    this.head.focus({ preventScroll: true });
  }
}

/** Select the head `step` positions further; an average counts as the first head. */
function stepHead(step) {
  const { translation, kind } = state;
  const heads = translation.heads(kind);
  const [layer, head] = [state.layer, state.head].map((item) => (typeof item === 'number' ? item : 0));
  const count = heads * translation.layers(kind);
  const index = (layer * heads + head + step + count) % count;
  set({ layer: Math.floor(index / heads), head: index % heads, preview: null });
}

const toIndex = (text) => (/^\d+$/.test(text) ? Number(text) : text);

/** Fill a menu. The average is an option only while it is selected. */
function fill(select, count, value) {
  const options = [...Array(count).keys()].map((number) => make('option', { value: number }, number + 1));
  if (typeof value !== 'number') options.push(make('option', { value }, t(`why_${value}`)));
  replace(select, ...options);
  select.value = value;
}
