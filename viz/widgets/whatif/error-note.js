// Error note for invalid interventions, placed next to the field of the last change; errors without a field stay at the
// default position.

import { make } from '../core/dom.js';
import { interventions } from './interventions.js';

const REQUEST_FIELDS = ['text', 'model', 'data']; // fields of errors that do not concern an intervention, such as a full queue

export class ErrorNote {
  /** `getField(action)` returns the field that sets this action, if any. */
  constructor(getField) {
    this.getField = getField;
    this.element = make('p', { class: 'error', id: 'whatif-error', role: 'alert' });
    this.defaultParent = make('div', {}, this.element);
    this.field = null;
  }

  /**
   * Moves the note to the field of the last intervention if the error concerns one, else to the default position.
   * @param {{ field?: string } | undefined} fault error from the server
   */
  moveToField(fault) {
    const lastIntervention = fault?.field && !REQUEST_FIELDS.includes(fault.field) ? interventions().at(-1) : null;
    const field = lastIntervention ? this.getField(lastIntervention.action) : null;
    if (field === this.field) return;
    this.field?.removeAttribute('aria-describedby');
    field?.setAttribute('aria-describedby', this.element.id);
    this.field = field;
    if (field) (field.closest('label') ?? field).after(this.element);
    else this.defaultParent.append(this.element);
  }
}
