// Steps through the search: previous, next, play, and a slider. At first all steps are shown.

import { prefersReducedMotion, icon, make, replace } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { stepButtons } from '../parts/step-buttons.js';

const STEP_MS = 900; // milliseconds per step
const PLAY_ICON = ['M5 3l9 5.5L5 14z'];
const PAUSE_ICON = ['M4.5 3h3v11h-3z', 'M9.5 3h3v11h-3z'];

export class Stepper {
  /** `showSteps(step)` shows the first `step` steps; `isVisible()`: whether the view is visible. */
  constructor({ showSteps, isVisible }) {
    this.showSteps = showSteps;
    this.isVisible = isVisible;
    this.timer = 0; // of the next step; 0 while paused
    const [previous, next] = stepButtons((offset) => this.move(offset));
    this.previous = previous;
    this.next = next;
    this.playButton = make('button', { type: 'button', class: 'round', onclick: () => this.toggle() });
    this.slider = make('input', { type: 'range', min: 1, step: 1 });
    this.slider.addEventListener('input', () => {
      const step = this.slider.valueAsNumber;
      this.pause(); // restores the slider
      this.goTo(step);
    });
    this.stepText = make('span', { class: 'quiet numeric' });
    const controls = [this.previous, this.next, this.playButton, this.slider, this.stepText];
    this.element = make('div', { class: 'stepper', role: 'group' }, ...controls);
  }

  /** Shows all steps of a new search. */
  reset(stepCount) {
    this.pause();
    this.stepCount = stepCount;
    this.step = stepCount;
    this.slider.max = String(stepCount);
    this.draw();
  }

  move(offset) {
    this.pause();
    this.goTo(this.step + offset);
  }

  /** Shows the first `step` steps, from 1. */
  goTo(step) {
    this.step = Math.max(1, Math.min(this.stepCount, step));
    this.showSteps(this.step);
    this.draw();
  }

  /** Plays or pauses. If the visitor prefers reduced motion, it shows a single step. */
  toggle() {
    if (this.timer) this.pause();
    else {
      if (this.step >= this.stepCount) this.goTo(1);
      else this.goTo(this.step + 1);
      if (!prefersReducedMotion()) this.scheduleStep();
    }
    this.draw();
  }

  scheduleStep() {
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      if (!this.isVisible() || this.step >= this.stepCount) {
        this.draw();
        return;
      }
      this.goTo(this.step + 1);
      if (this.step < this.stepCount) this.scheduleStep();
      this.draw();
    }, STEP_MS);
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = 0;
    if (this.stepCount) this.draw();
  }

  draw() {
    const description = t('decoding_step', { step: this.step, steps: this.stepCount });
    this.slider.value = String(this.step);
    this.slider.setAttribute('aria-label', t('decoding_steps'));
    this.slider.setAttribute('aria-valuetext', description);
    this.stepText.textContent = `${this.step} / ${this.stepCount}`;
    this.element.setAttribute('aria-label', t('decoding_steps'));
    replace(this.playButton, icon(17, this.timer ? PAUSE_ICON : PLAY_ICON, { fill: 'currentColor' }));
    for (const [button, phrase] of [
      [this.playButton, this.timer ? 'decoding_pause' : 'decoding_play'],
      [this.previous, 'decoding_previous_step'],
      [this.next, 'decoding_next_step'],
    ]) {
      button.setAttribute('aria-label', t(phrase));
      button.title = t(phrase);
    }
    this.previous.disabled = this.step <= 1;
    this.next.disabled = this.step >= this.stepCount;
  }
}
