// Steps through the search: previous, next, play, and a slider. At first all steps are shown.

import { prefersReducedMotion, icon, make, replace } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { stepButtons } from '../parts/step-buttons.js';

const STEP_MS = 900; // milliseconds per step
const PLAY = ['M5 3l9 5.5L5 14z'];
const PAUSE = ['M4.5 3h3v11h-3z', 'M9.5 3h3v11h-3z'];

export class Stepper {
  /** `showSteps(step)` shows the first `step` steps; `isVisible()`: whether the view is visible. */
  constructor({ showSteps, isVisible }) {
    this.showSteps = showSteps;
    this.isVisible = isVisible;
    this.timer = 0;
    const [previous, next] = stepButtons((step) => this.move(step));
    this.previous = previous;
    this.next = next;
    this.button = make('button', { type: 'button', class: 'round', onclick: () => this.toggle() });
    this.slider = make('input', { type: 'range', min: 1, step: 1 });
    this.slider.addEventListener('input', () => {
      const step = this.slider.valueAsNumber;
      this.pause(); // restores the slider
      this.goTo(step);
    });
    this.position = make('span', { class: 'quiet numeric' });
    this.element = make('div', { class: 'stepper', role: 'group' }, this.previous, this.next, this.button, this.slider, this.position);
  }

  /** Resets to all steps of another search. */
  start(steps) {
    this.pause();
    this.steps = steps;
    this.step = steps;
    this.slider.max = String(steps);
    this.draw();
  }

  move(step) {
    this.pause();
    this.goTo(this.step + step);
  }

  goTo(step) {
    this.step = Math.max(1, Math.min(this.steps, step));
    this.showSteps(this.step);
    this.draw();
  }

  /** Plays or pauses. With reduced motion, each press is a single step. */
  toggle() {
    if (this.timer) this.pause();
    else {
      if (this.step >= this.steps) this.goTo(1);
      else this.goTo(this.step + 1);
      if (!prefersReducedMotion()) this.scheduleStep();
    }
    this.draw();
  }

  scheduleStep() {
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      if (!this.isVisible() || this.step >= this.steps) {
        this.draw();
        return;
      }
      this.goTo(this.step + 1);
      if (this.step < this.steps) this.scheduleStep();
      this.draw();
    }, STEP_MS);
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = 0;
    if (this.steps) this.draw();
  }

  draw() {
    const description = t('decoding_step', { step: this.step, steps: this.steps });
    this.slider.value = String(this.step);
    this.slider.setAttribute('aria-label', t('decoding_steps'));
    this.slider.setAttribute('aria-valuetext', description);
    this.position.textContent = `${this.step} / ${this.steps}`;
    this.element.setAttribute('aria-label', t('decoding_steps'));
    replace(this.button, icon(17, this.timer ? PAUSE : PLAY, { fill: 'currentColor' }));
    for (const [button, name] of [
      [this.button, this.timer ? 'decoding_pause' : 'decoding_play'],
      [this.previous, 'decoding_previous_step'],
      [this.next, 'decoding_next_step'],
    ]) {
      button.setAttribute('aria-label', t(name));
      button.title = t(name);
    }
    this.previous.disabled = this.step <= 1;
    this.next.disabled = this.step >= this.steps;
  }
}
