// Editor for the pinned weight: a slider, or a vertical drag on the map, with the same effect.

import { make } from '../core/dom.js';
import { state } from '../core/state.js';
import { twoDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { mergeHighlight } from '../headview/highlights.js';
import { replaceIntervention } from './interventions.js';

const DRAG_PIXELS = 160; // pixels of drag from weight zero to one
const CLICK_PIXELS = 4; // drags shorter than this are clicks
/** @type {Record<string, number>} increments by key */
const KEY_STEPS = { ArrowUp: 0.05, ArrowRight: 0.05, ArrowDown: -0.05, ArrowLeft: -0.05, PageUp: 0.2, PageDown: -0.2, Home: -1, End: 1 };

/** Set one weight of a row; distribute the remainder in proportion to the others, or evenly if they are zero. */
export function rescaleRow(row, column, amount) {
  const others = [...row.keys()].filter((otherColumn) => otherColumn !== column && row[otherColumn] === row[otherColumn]);
  if (!others.length) return row.slice();
  const sum = others.reduce((total, position) => total + row[position], 0);
  return row.map((weight, index) => {
    if (index === column) return amount;
    if (weight !== weight) return weight; // masked
    return sum > 0 ? (weight * (1 - amount)) / sum : (1 - amount) / others.length;
  });
}

export class WeightEditor {
  /** `heads()` returns the head view that shows the map. */
  constructor(store, heads) {
    this.store = store;
    this.heads = heads;
    this.description = make('span', {});
    this.slider = make('input', {
      type: 'range',
      min: 0,
      max: 1,
      step: 0.01,
      oninput: () => this.preview(Number(this.slider.value)),
      onchange: () => this.set(Number(this.slider.value)),
    });
    this.amountText = make('output', { class: 'numeric' });
    this.remainderText = make('span', { class: 'quiet numeric', role: 'status' });
    this.hint = make('p', { class: 'quiet' });
    this.label = make('label', { class: 'sample' }, this.description, this.slider, this.amountText);
    this.element = make('div', { class: 'one-weight' }, this.label, this.remainderText, this.hint);
    this.knob = make('div', {
      class: 'knob',
      role: 'slider',
      tabindex: 0,
      hidden: true,
      'aria-orientation': 'vertical',
      'aria-valuemin': 0,
      'aria-valuemax': 1,
      onpointerdown: (event) => this.startDrag(event),
      onpointermove: (event) => this.drag(event),
      onpointerup: (event) => this.endDrag(event),
      onpointercancel: () => this.cancel(),
      onclick: (event) => this.isDragging && event.stopPropagation(), // keep the pin after a drag
      onkeydown: (event) => this.press(event),
    });
  }

  /** `view`: the visible map. */
  draw(view) {
    const { row, column } = this.store.state;
    const isSingleHead = view && typeof view.layer === 'number' && typeof view.head === 'number';
    const cell = isSingleHead && !state.words && row !== null && column !== null && view.rows[row] && view.columns[column];
    const weight = cell ? view.weights[row * view.columns.length + column] : NaN;
    const isOnlyCell =
      cell && view.weights.subarray(row * view.columns.length, (row + 1) * view.columns.length).filter((item) => item === item).length < 2;
    const possible = weight === weight && !isOnlyCell;
    this.label.hidden = this.remainderText.hidden = this.knob.hidden = !possible;
    this.hint.hidden = possible && !state.words;
    this.hint.textContent = t(
      state.words ? 'whatif_drag_tokens' : !isSingleHead ? 'whatif_drag_one' : isOnlyCell ? 'whatif_drag_alone' : 'whatif_drag_hint',
    );
    this.start = null;
    if (!possible) return;
    this.view = view;
    this.cell = { row, column };
    this.target = {
      kind: view.kind,
      layer: view.layer,
      head: view.head,
      row: view.rows[row].places[0],
      column: view.columns[column].places[0],
    };
    this.description.textContent = t('whatif_drag', { row: view.rows[row].label, column: view.columns[column].label });
    for (const element of [this.slider, this.knob]) element.setAttribute('aria-label', this.description.textContent);
    this.knob.title = t('whatif_drag_knob');
    this.showAmount(weight);
    this.updatePosition();
  }

  /** Place the handle on the pinned cell. */
  updatePosition() {
    const [map] = this.heads().maps.maps;
    if (!map?.plane) return;
    const { cellWidth, cellHeight } = map;
    const [left, top] = [this.cell.column * cellWidth, this.cell.row * cellHeight];
    this.knob.style.cssText = `left:${left}px;top:${top}px;width:${cellWidth}px;height:${cellHeight}px`;
    if (this.knob.parentElement !== map.plane) map.plane.append(this.knob);
  }

  /** Show the weight, and the remainder for the other keys, in the slider, the knob and the text. */
  showAmount(amount) {
    this.amount = amount;
    this.slider.value = amount;
    this.amountText.textContent = twoDecimals(amount);
    this.knob.setAttribute('aria-valuenow', twoDecimals(amount));
    this.remainderText.textContent = t('whatif_drag_rest', { rest: twoDecimals(1 - amount) });
  }

  /** Preview the row on the map; the model runs on release. */
  preview(amount) {
    this.showAmount(amount);
    const { view, cell } = this;
    const width = view.columns.length;
    const weights = view.weights.slice();
    weights.set(rescaleRow(weights.subarray(cell.row * width, (cell.row + 1) * width), cell.column, amount), cell.row * width);
    const { maps, source, title, names, read } = this.heads();
    const previewView = { ...view, weights };
    const marks = this.heads().currentMarks();
    maps.show(source, previewView, { name: names.mapName(title.textContent) });
    maps.highlight(marks);
    read?.(source, previewView, mergeHighlight(marks));
  }

  set(amount) {
    const { target } = this;
    const isSame = (item) => item.action === 'drag' && ['kind', 'layer', 'head', 'row'].every((name) => item[name] === target[name]);
    replaceIntervention(isSame, { action: 'drag', ...target, amount: Math.round(100 * amount) / 100 });
  }

  startDrag(event) {
    if (event.button) return;
    this.start = { y: event.clientY, amount: this.amount };
    this.isDragging = false;
    this.knob.setPointerCapture(event.pointerId);
  }

  drag(event) {
    if (!this.start) return;
    event.stopPropagation(); // suppress hover while dragging
    const up = this.start.y - event.clientY;
    if (!this.isDragging && Math.abs(up) < CLICK_PIXELS) return;
    this.isDragging = true;
    this.knob.classList.add('pulled');
    this.preview(clampAmount(this.start.amount + up / DRAG_PIXELS));
  }

  endDrag(event) {
    if (this.start && this.isDragging) {
      event.stopPropagation();
      this.set(this.amount);
    }
    this.start = null;
    this.knob.classList.remove('pulled');
  }

  /** Discard the preview. */
  cancel() {
    if (this.start && this.isDragging) this.preview(this.start.amount);
    this.start = null;
    this.knob.classList.remove('pulled');
  }

  press(event) {
    if (event.key === 'Escape' && this.start) {
      event.stopPropagation();
      this.cancel();
      return;
    }
    const step = KEY_STEPS[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation(); // keep arrow keys from selecting another head
    this.preview(clampAmount(this.amount + step));
    this.set(this.amount);
  }
}

const clampAmount = (amount) => Math.max(0, Math.min(1, Math.round(100 * amount) / 100));
