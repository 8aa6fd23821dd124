// Questions next to the map. At most one is open, and the server computes its answer for the current selection.

import { make } from '../core/dom.js';
import { LatestRequest } from '../core/latest-request.js';
import { on, set, state } from '../core/state.js';

const DEBOUNCE_MS = 250; // milliseconds between the last change of the selection and the request

export class Question {
  /**
   * @param {string} name CSS class of the element
   * @param {() => void} onToggle
   */
  constructor(name, onToggle = () => this.draw()) {
    this.title = make('summary', {});
    this.loadingNote = make('p', { class: 'quiet', role: 'status' });
    this.body = make('div', { class: 'answer' });
    this.error = make('p', { class: 'error', role: 'alert' });
    this.element = make('details', { class: `question ${name}`, name: 'question' }, this.title, this.loadingNote, this.body, this.error);
    this.latest = new LatestRequest(this.body, this.error, 'error_our_fault');
    this.timer = 0;
    this.element.addEventListener('toggle', () => {
      if (this.element.open) set({ question: name });
      else if (state.question === name) set({ question: '' });
      onToggle();
    });
    const updateOpen = () => {
      this.element.open = state.question === name;
    };
    on(['question'], updateOpen);
    updateOpen();
  }

  /** Draws the question for the current selection; subclasses request the answer. */
  draw() {}

  /**
   * Requests the answer to `key` if the question is open.
   * @template Answer
   * @param {string} key
   * @param {(signal: AbortSignal) => Promise<Answer>} request
   * @param {(answer: Answer) => void} show
   * @param {string} loadingText shown until the answer arrives
   */
  load(key, request, show, loadingText) {
    clearTimeout(this.timer);
    if (!this.element.open) this.latest.cancel();
    if (!this.element.open || key === this.latest.loadedKey) return;
    this.loadingNote.textContent = loadingText;
    this.body.classList.add('loading');
    const load = async () => {
      await this.latest.load(key, request, show);
      if (!this.body.classList.contains('loading')) this.loadingNote.textContent = '';
    };
    this.timer = setTimeout(load, this.latest.loadedKey ? DEBOUNCE_MS : 0);
  }
}
