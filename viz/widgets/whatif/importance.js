// How much of the answer's log probability is lost without each head, layer and kind: asked for batch by batch, shown on the
// wall as it comes, and the order in which heads go when one prunes.

import { make, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { css, inkOn, shade } from '../core/theme.js';
import { minus } from '../core/view.js';
import { faultSays, t } from '../core/words.js';
import { change, changes, isHead } from './changes.js';

const LONGEST = 60; // seconds until measuring stops by itself

export class Importance {
  /** `ask(values)` asks the server; `heads()`: the view whose wall shows what is known. */
  constructor(ask, heads) {
    this.ask = ask;
    this.heads = heads;
    this.key = '';
    this.request = null;
    this.all = 0; // how many there are to measure, once the server has said so
    this.late = false;
    this.known = new Map();
    this.turn = 0;
    this.running = false;
    this.tiles = 'maps';
    this.title = make('h3', {});
    this.says = make('p', { class: 'quiet' });
    this.measure = make('button', { type: 'button', class: 'link', onclick: () => (this.running ? this.stop() : this.start()) });
    this.choice = make('div', { class: 'segments', role: 'group' });
    this.progress = make('p', { class: 'quiet numeric', role: 'status' });
    this.pruneName = make('span', {});
    this.slider = make('input', { type: 'range', min: 0, step: 1, oninput: () => this.namePrune(), onchange: () => this.prune() });
    this.pruneSays = make('p', { class: 'quiet' });
    this.pruning = make('div', { class: 'pruning', hidden: true }, make('label', {}, this.pruneName, this.slider), this.pruneSays);
    const line = make('div', { class: 'more' }, this.measure, this.choice);
    this.element = make('section', { class: 'importance' }, this.title, this.says, line, this.progress, this.pruning);
  }

  /** Another translation has other losses. */
  draw(translation) {
    const key = JSON.stringify(translation.asked());
    if (key !== this.key) {
      this.turn += 1;
      [this.key, this.request, this.running, this.all, this.late] = [key, translation.asked(), false, 0, false];
      this.known = new Map();
      this.tiles = 'maps';
      this.progress.textContent = '';
    }
    this.title.textContent = t('whatif_importance');
    this.says.textContent = t('whatif_importance_says');
    this.drawControls();
  }

  stop() {
    this.turn += 1;
    this.running = false;
    this.drawControls();
  }

  /** Measure what is not measured yet. Leaving the tab stops it. */
  async start() {
    const turn = ++this.turn;
    const begun = performance.now();
    let fault = '';
    [this.running, this.tiles, this.late] = [true, 'losses', false];
    this.drawControls();
    try {
      while (turn === this.turn && (!this.all || this.known.size < this.all)) {
        const told = await this.ask({ request: this.request, first: this.known.size });
        if (turn !== this.turn) return;
        this.all = told.all;
        for (const each of told.losses) this.known.set(keyOf(each), each);
        this.late = performance.now() - begun > 1000 * LONGEST && this.known.size < this.all;
        if (this.late || state.tab !== 'whatif') this.turn += 1;
        this.drawControls();
      }
    } catch (error) {
      if (turn === this.turn) fault = faultSays(error);
    } finally {
      if (turn === this.turn || this.late || state.tab !== 'whatif') {
        this.running = false;
        this.drawControls();
        if (fault) this.progress.textContent = fault; // in the place of how far it has come
      }
    }
  }

  drawControls() {
    const whole = this.all > 0 && this.known.size >= this.all;
    this.measure.hidden = whole;
    this.measure.textContent = t(this.running ? 'whatif_measure_stop' : 'whatif_measure');
    this.choice.hidden = !this.known.size;
    this.choice.setAttribute('aria-label', t('whatif_tiles'));
    const focused = this.choice.contains(document.activeElement);
    const tile = (name) => {
      const pick = () => {
        this.tiles = name;
        this.drawControls();
      };
      return make('button', { type: 'button', 'aria-pressed': String(name === this.tiles), onclick: pick }, t(`whatif_${name}`));
    };
    replace(this.choice, tile('maps'), tile('losses'));
    if (focused) this.choice.querySelector('[aria-pressed=true]').focus({ preventScroll: true });
    if (this.known.size) this.progress.textContent = this.progressSays(whole);
    this.pruning.hidden = !whole;
    if (whole) this.drawPrune();
    this.paint();
  }

  progressSays(whole) {
    const numbers = { done: this.known.size, all: this.all, limit: LONGEST };
    if (this.late) return t('whatif_measured_late', numbers);
    if (!whole) return t('whatif_measured', numbers);
    const { layer, head, loss } = this.byLoss().at(-1);
    const name = t('whatif_head', { layer: layer + 1, head: head + 1 });
    const kind = t(`kind_${this.byLoss().at(-1).kind}_short`);
    return t('whatif_measured_all', { ...numbers, head: `${kind} ${name}`, loss: minus(-loss, 2) });
  }

  /** Single heads, the least important first. */
  byLoss() {
    const heads = [...this.known.values()].filter(({ head }) => head !== null);
    return heads.sort((one, other) => one.loss - other.loss);
  }

  /** Losses on the wall, or the maps again. */
  paint() {
    const most = Math.max(1e-9, ...this.byLoss().map(({ loss }) => loss));
    for (const button of this.heads().grid.buttons()) {
      const place = (text) => (text === 'mean' ? null : Number(text));
      const { layer, head } = button.dataset;
      const found = head === 'max' ? null : this.known.get(keyOf({ kind: state.kind, layer: place(layer), head: place(head) }));
      let sign = button.querySelector('.loss');
      if (this.tiles === 'maps' || !found) {
        sign?.remove();
        continue;
      }
      if (!sign) {
        sign = make('b', { class: 'loss numeric', 'aria-hidden': 'true' });
        button.append(sign);
      }
      const colour = shade(state.palette, Math.sqrt(Math.min(1, Math.max(0, found.loss) / most)));
      sign.textContent = minus(found.loss, Math.abs(found.loss) < 9.95 ? 1 : 0);
      sign.style.cssText = `background:${css(colour)};color:${inkOn(colour)}`;
      button.title = t('whatif_costs', { head: button.getAttribute('aria-label'), loss: minus(found.loss, 2) });
    }
  }

  // ---------------------------------------------------------------- pruning

  /** The slider stands at the number of least important heads that are off, where just those are. */
  drawPrune() {
    const order = this.byLoss();
    this.slider.max = order.length;
    const off = changes().filter((each) => each.action === 'remove' && isHead(each));
    if (document.activeElement !== this.slider) this.slider.value = off.length;
    this.pruneSays.textContent = t('whatif_prune_says');
    this.namePrune();
  }

  namePrune() {
    this.pruneName.textContent = t('whatif_prune', { count: this.slider.value, all: this.slider.max });
  }

  prune() {
    const others = changes().filter((each) => !(each.action === 'remove' && isHead(each)));
    const off = this.byLoss().slice(0, Number(this.slider.value));
    change([...others, ...off.map(({ kind, layer, head }) => ({ action: 'remove', kind, layer, head }))]);
  }
}

const keyOf = ({ kind, layer, head }) => `${kind} ${layer} ${head}`;
