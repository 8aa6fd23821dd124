// Error note for invalid interventions, placed beside the field of the last change; what is
// about no field stands where it is first put.

import { make } from '../core/dom.js';
import { interventions } from './interventions.js';

const ELSEWHERE = ['text', 'model', 'data']; // what is about these is about no change: the line is full, say

export class ErrorNote {
  /** `fieldOf(action)`: the field in which such a change is made, if it has one. */
  constructor(fieldOf) {
    this.fieldOf = fieldOf;
    this.element = make('p', { class: 'error', id: 'whatif-error', role: 'alert' });
    this.home = make('div', {}, this.element);
    this.field = null;
  }

  /** @param {{ field?: string } | undefined} fault what the server complains of */
  moveToField(fault) {
    const last = fault?.field && !ELSEWHERE.includes(fault.field) ? interventions().at(-1) : null;
    const field = last ? this.fieldOf(last.action) : null;
    if (field === this.field) return;
    this.field?.removeAttribute('aria-describedby');
    field?.setAttribute('aria-describedby', this.element.id);
    this.field = field;
    if (field) (field.closest('label') ?? field).after(this.element);
    else this.home.append(this.element);
  }
}
