// Editor of the pinned weight: a slider, and a handle on the map that is dragged vertically.

import { make } from '../core/dom.js';
import { state } from '../core/state.js';
import { twoDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { mergeHighlight } from '../headview/highlights.js';
import { replaceIntervention } from './interventions.js';

const DRAG_PIXELS = 160; // drag distance from weight zero to one
const MIN_DRAG_PIXELS = 4; // shorter drags are clicks
/** @type {Record<string, number>} increments by key */
const KEY_STEPS = { ArrowUp: 0.05, ArrowRight: 0.05, ArrowDown: -0.05, ArrowLeft: -0.05, PageUp: 0.2, PageDown: -0.2, Home: -1, End: 1 };

/**
 * Sets one weight of a row to `amount`. The other allowed keys share the remainder in proportion to their weights, or evenly
 * if all of them are zero. NaN marks masked keys.
 */
export function rescaleRow(row, column, amount) {
  const otherColumns = [...row.keys()].filter((index) => index !== column && row[index] === row[index]);
  if (!otherColumns.length) return row.slice();
  const sum = otherColumns.reduce((total, index) => total + row[index], 0);
  return row.map((weight, index) => {
    if (index === column) return amount;
    if (weight !== weight) return weight;
    return sum > 0 ? (weight * (1 - amount)) / sum : (1 - amount) / otherColumns.length;
  });
}

export class WeightEditor {
  /** `getHeadView()` returns the head view that shows the map. */
  constructor(store, getHeadView) {
    this.store = store;
    this.getHeadView = getHeadView;
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
    this.handle = make('div', {
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
      onkeydown: (event) => this.onKeydown(event),
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
    const isEditable = weight === weight && !isOnlyCell;
    this.label.hidden = this.remainderText.hidden = this.handle.hidden = !isEditable;
    this.hint.hidden = isEditable && !state.words;
    this.hint.textContent = t(
      state.words ? 'whatif_drag_tokens' : !isSingleHead ? 'whatif_drag_one' : isOnlyCell ? 'whatif_drag_alone' : 'whatif_drag_hint',
    );
    this.dragStart = null; // pointer position and weight at the start of a drag
    if (!isEditable) return;
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
    for (const element of [this.slider, this.handle]) element.setAttribute('aria-label', this.description.textContent);
    this.handle.title = t('whatif_drag_knob');
    this.showAmount(weight);
    this.updatePosition();
  }

  /** Places the handle on the pinned cell. */
  updatePosition() {
    const [map] = this.getHeadView().maps.maps;
    if (!map?.plane) return;
    const { cellWidth, cellHeight } = map;
    const [left, top] = [this.cell.column * cellWidth, this.cell.row * cellHeight];
    this.handle.style.cssText = `left:${left}px;top:${top}px;width:${cellWidth}px;height:${cellHeight}px`;
    if (this.handle.parentElement !== map.plane) map.plane.append(this.handle);
  }

  /** Shows the weight, and the remainder for the other keys, in the slider, the handle and the text. */
  showAmount(amount) {
    this.amount = amount;
    this.slider.value = amount;
    this.amountText.textContent = twoDecimals(amount);
    this.handle.setAttribute('aria-valuenow', twoDecimals(amount));
    this.remainderText.textContent = t('whatif_drag_rest', { rest: twoDecimals(1 - amount) });
  }

  /** Previews the row on the map; the model runs on release. */
  preview(amount) {
    this.showAmount(amount);
    const { view, cell } = this;
    const columnCount = view.columns.length;
    const rowStart = cell.row * columnCount;
    const weights = view.weights.slice();
    weights.set(rescaleRow(weights.subarray(rowStart, rowStart + columnCount), cell.column, amount), rowStart);
    const { maps, source, title, names, read } = this.getHeadView();
    const previewView = { ...view, weights };
    const marks = this.getHeadView().currentMarks();
    maps.show(source, previewView, { name: names.mapName(title.textContent) });
    maps.highlight(marks);
    read?.(source, previewView, mergeHighlight(marks));
  }

  /** Adds the intervention on the weight, in place of an earlier one on its row. */
  set(amount) {
    const { target } = this;
    const isOnRow = (item) => item.action === 'drag' && ['kind', 'layer', 'head', 'row'].every((name) => item[name] === target[name]);
    replaceIntervention(isOnRow, { action: 'drag', ...target, amount: Math.round(100 * amount) / 100 });
  }

  startDrag(event) {
    if (event.button) return;
    this.dragStart = { y: event.clientY, amount: this.amount };
    this.isDragging = false;
    this.handle.setPointerCapture(event.pointerId);
  }

  drag(event) {
    if (!this.dragStart) return;
    event.stopPropagation(); // suppress hover while dragging
    const distance = this.dragStart.y - event.clientY; // upwards
    if (!this.isDragging && Math.abs(distance) < MIN_DRAG_PIXELS) return;
    this.isDragging = true;
    this.handle.classList.add('pulled');
    this.preview(clampAmount(this.dragStart.amount + distance / DRAG_PIXELS));
  }

  endDrag(event) {
    if (this.dragStart && this.isDragging) {
      event.stopPropagation();
      this.set(this.amount);
    }
    this.dragStart = null;
    this.handle.classList.remove('pulled');
  }

  /** Discard the preview. */
  cancel() {
    if (this.dragStart && this.isDragging) this.preview(this.dragStart.amount);
    this.dragStart = null;
    this.handle.classList.remove('pulled');
  }

  onKeydown(event) {
    if (event.key === 'Escape' && this.dragStart) {
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

/** The nearest weight from 0 to 1 with two decimals. */
const clampAmount = (amount) => Math.max(0, Math.min(1, Math.round(100 * amount) / 100));
