// One of two models: its translation, all its heads, one of them large, and what goes together with the other side.

import { make, phrase, replace, touch } from '../core/dom.js';
import { state } from '../core/state.js';
import { four, merged, strongest, two, view } from '../core/view.js';
import { t } from '../core/words.js';
import { HeadGrid } from '../parts/headgrid.js';
import { paint } from '../parts/heatmap.js';
import { headName, patternSays } from '../parts/naming.js';
import { Numbers } from '../parts/numbers.js';
import { mountStrips } from '../parts/strips.js';
import { doubtful } from '../parts/translation.js';
import { turnButtons } from '../parts/turning.js';
import { NOTHING, TwinMap, any, litLevels, litWeights, looking } from './twinmap.js';

/** `does`: `choose(head)`, `page(step)`, `point(row, column)` with nulls when the pointer leaves, `pin(row, column)`. */
export class Side {
  constructor(letter, plotly, does) {
    Object.assign(this, { letter, plotly, preview: null, marks: [NOTHING, NOTHING] });
    this.build(does);
    this.listen(does);
  }

  build({ choose, page }) {
    this.badge = make('i', { class: `badge ${this.letter === 'A' ? 'first' : 'second'}`, 'aria-hidden': 'true' }, this.letter);
    this.controls = make('div', { class: 'controls' }, this.badge);
    this.error = make('p', { class: 'error', role: 'alert' });
    this.reads = make('div', { class: 'reads', dir: 'auto' });
    this.meta = make('p', { class: 'quiet numeric' });
    this.beyond = make('p', { class: 'quiet' });
    this.grid = new HeadGrid({ choose, preview: (preview) => (preview || this.preview) && this.turn({ preview }) });
    [this.previous, this.next] = turnButtons(page);
    this.title = make('h2', { class: 'numeric' });
    this.announced = make('p', { class: 'hidden-text', 'aria-live': 'polite' }); // chosen heads, not those pointed at
    this.topline = make('div', { class: 'topline' }, make('div', { class: 'turn' }, this.previous, this.next, this.title));
    this.says = make('p', { class: 'says' });
    const strips = make('div', {});
    this.strips = mountStrips(strips, () => this.answer);
    this.value = make('span', { class: 'value numeric' });
    this.words = make('span', { class: 'words' });
    this.readout = make('div', { class: 'readout' }, this.value, this.words);
    this.area = make('div', { class: 'maps' });
    const part = (...children) => make('div', {}, ...children);
    this.head = [part(this.topline, this.announced, this.says), strips, this.readout, this.area];
    this.element = make(
      'section',
      { class: 'one', tabindex: -1 },
      part(this.controls, this.error),
      this.reads,
      part(this.meta, this.beyond),
      part(this.grid.element),
      ...this.head,
    );
  }

  listen({ point, pin }) {
    for (const part of this.head.slice(1)) {
      part.addEventListener('pointermove', (event) => event.pointerType !== 'touch' && this.view && point(...this.where(event)));
      part.addEventListener('pointerleave', () => point(null, null));
      part.addEventListener('click', (event) => {
        const [row, column] = this.view ? this.where(event) : [null, null];
        if (row !== null || column !== null) pin(row, column);
      });
    }
    new ResizeObserver(() => this.resized()).observe(this.area);
  }

  /** Row and column under the pointer: on the map, at its labels, in the sentences. */
  where(event) {
    if (this.map.plane?.contains(event.target)) return this.map.cellAt(event);
    const cell = event.target.closest('[data-row],[data-column]');
    const number = (text) => (text === undefined ? null : Number(text));
    if (cell) return [number(cell.dataset.row), number(cell.dataset.column)];
    const keys = event.target.closest('.token')?.dataset.keys.split(' ');
    if (!keys) return [null, null];
    const at = (axis) => this.view[axis].findIndex((item) => this.keysOf(axis, item).some((key) => keys.includes(key)));
    const row = at('rows');
    if (row >= 0) return [row, null];
    const column = at('columns');
    return [null, column >= 0 ? column : null];
  }

  keysOf(axis, item) {
    const tokens = this.answer[axis](this.kind);
    return item.places.map((place) => tokens[place].key);
  }

  // ---------------------------------------------------------------- drawing

  /** Another answer, kind, or way of showing; `turn` draws the head. */
  show(answer, kind) {
    Object.assign(this, { answer, kind, preview: null, marks: [NOTHING, NOTHING] });
    this.element.setAttribute('aria-label', t('beside_side', { letter: this.letter, model: answer.model.name }));
    this.reads.lang = answer.model.target;
    replace(this.reads, ...(answer.text.trim() ? this.written() : [t('beside_empty')]));
    this.drawMeta();
    this.grid.element.setAttribute('aria-label', t('beside_wall', { model: answer.model.name }));
    this.previous.setAttribute('aria-label', t('previous_head'));
    this.next.setAttribute('aria-label', t('next_head'));
    this.grid.draw(answer, kind);
    this.strips.draw();
  }

  /** The translation, letter by letter, each token with its shade of doubt. */
  written() {
    const { target, text } = this.answer;
    const shown = [];
    let end = 0;
    for (const { start, end: last, special, probability, label } of target) {
      if (special || last <= end) continue; // of the pieces of one character the first stands for all
      const title = probability === undefined ? null : t('token_probability', { token: label, probability: two(probability) });
      shown.push(
        text.slice(end, start),
        make('span', { title, style: `background-color:${doubtful(probability)}` }, text.slice(Math.max(start, end), last)),
      );
      end = last;
    }
    return shown.filter((part) => part !== '');
  }

  drawMeta() {
    const { answer } = this;
    const counts = { encoder: answer.layers('encoder'), decoder: answer.layers('decoder'), heads: answer.heads('encoder') };
    const { temperature, beam_size: beam } = answer.request.options;
    const told = {
      ...counts,
      beam,
      read: answer.source.length,
      written: answer.target.length,
      log: answer.log_probability.toFixed(2).replace('-', '−'),
    };
    const how =
      typeof answer.request.target === 'string' ? 'beside_meta_given' : temperature > 0 ? 'beside_meta_sampled' : 'beside_meta_beam';
    replace(this.meta, ...[t('beside_meta_size', told), t(how, told), t('beside_meta_log', told)].map((part) => make('span', {}, part)));
    this.beyond.textContent = answer.beyond ? t('beyond') : '';
  }

  /** Another head, chosen or only pointed at. */
  turn(changes) {
    Object.assign(this, changes);
    if (!this.answer) return;
    const { layer, head } = this.preview ?? this.chosen;
    this.grid.mark(this.chosen);
    this.view = view(this.answer, this.kind, layer, head);
    this.title.textContent = headName(layer, head);
    const chosen = headName(this.chosen.layer, this.chosen.head);
    if (this.announced.textContent !== chosen) this.announced.textContent = chosen;
    this.title.classList.toggle('previewed', Boolean(this.preview));
    replace(this.says, ...patternSays(this.answer, this.kind, layer, head));
    this.drawMap();
    this.light(...this.marks);
    if ('preview' in changes) this.onPreview?.();
  }

  drawMap() {
    const form = state.view === 'numbers' ? 'numbers' : 'matrix';
    const name = t('beside_map', { model: this.answer.model.name, head: this.title.textContent });
    if (form !== this.form) {
      this.map?.close?.();
      this.map =
        form === 'numbers' ? new Numbers(() => looking(this.marks)) : new TwinMap(this.plotly, { nameOf: (...at) => this.nameOf(...at) });
      replace(this.area, this.map.element);
      this.form = form;
    }
    if (form === 'numbers') this.map.show([this.view], name);
    else this.map.show(this.view, this.area.clientWidth || 560, name);
  }

  resized() {
    if (!this.view || !this.area.clientWidth || this.width === this.area.clientWidth) return;
    this.width = this.area.clientWidth;
    this.drawMap();
    this.light(...this.marks);
  }

  // ---------------------------------------------------------------- what is lit

  /** What is meant on this side, by the pointer and by a pin; `missing`: what to say where it has no partner here. */
  light(hover, pinned, missing = '') {
    this.marks = [hover, pinned, missing];
    if (!this.view) return;
    const now = any(hover) ? hover : pinned;
    const lit = litLevels(this.view, now);
    const strength = new Map();
    const chosen = new Set();
    for (const axis of ['columns', 'rows']) {
      for (const [place, level] of (lit[axis] ?? []).entries())
        for (const key of this.keysOf(axis, this.view[axis][place])) strength.set(key, level);
      for (const place of now[axis] ?? [])
        if (this.leads(axis, now)) for (const key of this.keysOf(axis, this.view[axis][place])) chosen.add(key);
    }
    for (const token of this.strips.elements()) {
      const keys = token.dataset.keys.split(' ');
      paint(token, strength.get(keys[0]));
      token.classList.toggle(
        'chosen',
        keys.some((key) => chosen.has(key)),
      );
    }
    this.joinChosen();
    if (this.form === 'numbers') this.map.light();
    else this.map.mark(hover, pinned);
    this.read(now, missing);
  }

  /** Several chosen neighbours get one frame. */
  joinChosen() {
    const chosen = (token) => Boolean(token?.classList?.contains('chosen'));
    for (const token of this.strips.elements()) {
      const [before, after] = [token.previousSibling, token.nextSibling].map((each) => chosen(token) && chosen(each));
      token.classList.toggle('goes-on', after);
      token.classList.toggle('went-on', before);
    }
  }

  /** Of a row and a column together, the row is what one looks at. */
  leads(axis, now) {
    return axis === 'rows' || !now.rows?.length;
  }

  read(now, missing) {
    this.value.textContent = '';
    if (missing) {
      this.words.textContent = missing;
      return;
    }
    if (!any(now)) {
      this.words.textContent = t(touch() ? 'readout_tap' : 'readout_idle');
      return;
    }
    const weights = litWeights(this.view, now);
    const rows = now.rows?.length ? now.rows : [strongest(weights.rows)];
    const columns = now.columns?.length ? now.columns : [strongest(weights.columns)];
    const weight = merged({ weights: this.view.weights, columns: this.view.columns.length }, rows, columns);
    const name = (axis, places) => make('b', {}, make('bdi', {}, this.nameOf(axis, places)));
    const looks = phrase(t('looks_at'), { query: name('rows', rows), key: name('columns', columns) });
    if (weight === weight) this.value.textContent = four(weight);
    replace(this.words, ...looks, weight === weight ? null : ` · ${t('masked')}`);
  }

  /** The characters of one item or of several neighbours. */
  nameOf(axis, places) {
    const items = places.map((place) => this.view[axis][place]);
    if (items.length === 1) return items[0].label;
    const text = this.kind === 'encoder' || (this.kind === 'cross' && axis === 'columns') ? this.answer.source_text : this.answer.text;
    return text.slice(items[0].start, items.at(-1).end) || items[0].label;
  }

  focus() {
    if (this.grid.element.contains(document.activeElement)) this.grid.focus();
  }

  /** Nothing to show: a first answer is on its way, or there is none. */
  clear(says = '') {
    this.reads.textContent = says;
    this.element.classList.add('vacant');
  }
}
