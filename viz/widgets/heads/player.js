// Player: shows the translation token by token and highlights the row of the current word in all parts.

import { prefersReducedMotion, icon, make, isTextField } from '../core/dom.js';
import { on, set, state } from '../core/state.js';
import { axes } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { findTokenRow } from '../headview/unwritten.js';

const WORD_MS = 650; // milliseconds per word
const PLAY = ['M5 3l9 5.5L5 14z'];
const PAUSE = ['M4.5 3h3v11h-3z', 'M9.5 3h3v11h-3z'];

/** Token count at which each target row is complete. */
export function getRowEnds(translation, displayOptions) {
  const { rows } = axes(translation, 'cross', displayOptions);
  const stops = rows.map(({ places }) => places.at(-1) + 1);
  const tokenCount = translation.target.length;
  return stops.at(-1) === tokenCount ? stops : [...stops.slice(0, -1), tokenCount]; // a hidden end token appears with the last word
}

/** State change that shows the first `count` tokens and pins the last one's row. `selection`: kind and display options. */
export function selectPlayed(translation, selection, count) {
  const tokenCount = translation.target.length;
  const row = findTokenRow({ kind: selection.kind, rows: axes(translation, selection.kind, selection).rows }, count - 1);
  const changes = { written: count >= tokenCount ? null : count, hoverRow: null, hoverColumn: null };
  return selection.kind === 'encoder' ? changes : { ...changes, row, column: null };
}

export class Player {
  /** `isVisible()`: whether the tab is visible. */
  constructor(isVisible) {
    this.isVisible = isVisible;
    this.speed = 1;
    this.timer = 0;
    this.button = make('button', { type: 'button', class: 'round', onclick: () => this.toggle() });
    this.slider = make('input', { type: 'range', min: 1, step: 1 });
    this.positionText = make('span', { class: 'quiet numeric far', 'aria-hidden': 'true' });
    this.element = make('div', { class: 'player', role: 'group' }, this.button, this.slider, this.positionText);
    this.slider.addEventListener('input', () => {
      const count = this.slider.valueAsNumber;
      this.pause(); // restores the slider's position
      this.showTokens(count);
    });
    document.addEventListener('keydown', (event) => this.key(event), true);
    on(['translation'], () => this.pause());
    on(['translation', 'written', 'words', 'special', 'language', 'tab'], () => this.draw());
    this.draw();
  }

  get playing() {
    return this.timer !== 0;
  }

  // ---------------------------------------------------------------- playback

  /** With reduced motion, each press advances by one word. */
  toggle() {
    if (this.playing) this.pause();
    else if (prefersReducedMotion()) this.step();
    else {
      this.step();
      this.play();
    }
    this.draw();
  }

  play() {
    clearInterval(this.timer);
    this.timer = setInterval(() => this.step(), WORD_MS / this.speed);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = 0;
    this.draw();
  }

  /** Changes the speed, also during playback. */
  setSpeed(speed) {
    this.speed = speed;
    if (this.playing) this.play();
  }

  /** Advances by one word; after the last one, restarts at the first. */
  step() {
    const stops = getRowEnds(state.translation, state);
    const next = stops.find((stop) => stop > (state.written ?? 0)) ?? state.translation.target.length;
    if (next === state.translation.target.length) this.pause();
    this.showTokens(next);
  }

  showTokens(count) {
    set(selectPlayed(state.translation, state, count));
  }

  /** Ends playback and shows the whole translation. */
  end() {
    this.pause();
    set({ written: null });
  }

  /** Runs before other key handlers: Escape first ends the playback. */
  key(event) {
    if (!this.isVisible() || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const { target } = event;
    if (event.key === 'Escape' && (state.written !== null || this.playing) && !target.closest('[role=menu], [role=listbox]')) {
      event.preventDefault();
      event.stopPropagation();
      this.end();
    }
    const handlesKeys = isTextField(target) ? target !== this.slider : target.closest('button, a, summary, [role=button], [role=menuitem]');
    if (event.key !== ' ' || handlesKeys || !state.translation) return;
    event.preventDefault();
    event.stopPropagation();
    this.toggle();
  }

  // ---------------------------------------------------------------- drawing

  draw() {
    if (!state.translation || !this.isVisible()) return;
    const { target } = state.translation;
    const count = state.written ?? target.length;
    const values = { count, all: target.length };
    this.element.setAttribute('aria-label', t('player'));
    this.button.title = t('player');
    this.button.setAttribute('aria-label', t(this.playing ? 'pause' : 'play'));
    this.button.replaceChildren(icon(17, this.playing ? PAUSE : PLAY, { fill: 'currentColor' }));
    this.slider.max = target.length;
    this.slider.valueAsNumber = count;
    this.slider.setAttribute('aria-label', t('player_scrub'));
    this.slider.setAttribute('aria-valuetext', t('player_token', { ...values, token: target[count - 1]?.label ?? '' }));
    this.slider.disabled = this.button.disabled = target.length < 2;
    this.positionText.textContent = t('player_far', values);
  }
}
