// The part in PyTorch: the function so far, the blank line with its candidates, and the verdict on the chosen one.

import { fillElements, make, replace } from '../core/dom.js';
import { hasServer } from '../core/server.js';
import { t } from '../core/i18n.js';
import { sidesAreRight } from './part-decoder.js';
import { formatNumber } from '../parts/sums.js';
import { sentenceText } from './stage-results.js';

const SIDE_NAMES = { y: 'y', m: 'memory' };

export class CodeListing {
  /** `run(text)`: run a line on the server. */
  constructor(run) {
    this.run = run;
    this.title = make('h3', {});
    this.lines = make('pre', { tabindex: '0' });
    this.question = make('p', { class: 'quiet' });
    this.candidates = make('div', { class: 'candidates', role: 'group' });
    this.own = make('input', { class: 'own-line', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', maxlength: '120' });
    this.own.addEventListener('keydown', (event) => event.key === 'Enter' && this.runOwn());
    this.button = make('button', { type: 'button', class: 'run-line', onclick: () => this.runOwn() });
    this.form = make('div', { class: 'own' }, this.own, this.button);
    this.verdict = make('div', { class: 'line-verdict', role: 'status' });
    this.element = make(
      'section',
      { class: 'build-code' },
      this.title,
      this.lines,
      this.question,
      this.candidates,
      this.form,
      this.verdict,
    );
  }

  runOwn() {
    if (this.own.value.trim()) this.run(this.own.value.trim());
  }

  draw(data, state, { isRunning = false } = {}) {
    const part = data.part(state.part);
    const line = state.lines[state.part];
    this.title.textContent = t('build_code');
    this.lines.setAttribute('aria-label', t('build_code'));
    replace(this.lines, ...part.listing.map(([text, shape]) => this.line(text, shape, data, state)));
    const hasCandidates = part.candidates.length > 0;
    this.question.textContent = hasCandidates ? t('build_which_line') : t('build_which_side');
    this.candidates.hidden = !hasCandidates;
    this.form.hidden = !hasCandidates || !hasServer(); // only a server can run the reader's own line
    this.candidates.setAttribute('aria-label', t('build_which_line'));
    replace(this.candidates, ...part.candidates.map((text) => this.candidate(text, line)));
    this.own.setAttribute('aria-label', t('build_own_line'));
    this.own.placeholder = t('build_own_line');
    if (this.ownPart !== state.part) this.own.value = '';
    this.ownPart = state.part;
    this.button.textContent = t('build_run');
    this.drawVerdict(data, state, isRunning);
  }

  candidate(text, line) {
    const isChosen = line?.text === text;
    const status = isChosen ? (line.passes ? 'passes' : 'fails') : '';
    return make('button', { type: 'button', class: status, 'aria-pressed': String(isChosen), onclick: () => this.run(text) }, text);
  }

  /** A line with its tensor shape. `{part}` stands for the chosen line of the current part, for the right line of a built part, or for dots. */
  line(text, shape, data, state) {
    const parts = {};
    const names = [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    for (const name of names) parts[name] = this.fillBlank(name, data, state);
    const isCurrent = names.includes(state.part) || (state.part === 'cross' && names.length > 0);
    const isLater = names.some((name) => data.part(name) && name !== state.part && !state.isBuilt(name));
    const code = make('span', {}, ...fillElements(text, parts));
    const fits = (code.textContent ?? '').length + shape.length < 44;
    const shapeNote = shape && fits ? make('i', {}, `# ${shape}`) : null;
    return make('div', { class: `${isCurrent ? 'current' : ''} ${isLater ? 'later' : ''}` }, code, shapeNote);
  }

  fillBlank(name, data, state) {
    if (state.part === 'cross' && name in state.sides) {
      const side = state.sides[name];
      return side ? make('b', {}, SIDE_NAMES[side]) : make('span', { class: 'blank short' });
    }
    if (name === state.part) {
      const line = state.lines[name];
      return line ? make('b', {}, line.text) : make('span', { class: 'blank' });
    }
    return state.isBuilt(name) ? data.part(name).right : '…';
  }

  drawVerdict(data, state, isRunning) {
    const line = state.lines[state.part];
    this.verdict.className = `line-verdict ${!line || isRunning ? '' : line.passes ? 'passes' : 'fails'}`;
    if (isRunning) return replace(this.verdict, t('build_running'));
    if (!line) return replace(this.verdict);
    replace(this.verdict, ...verdictContent(line, data, state));
  }
}

/** The verdict on a line, as children of an element. */
export function verdictContent(line, data, state) {
  const note = state.part === 'cross' && !sidesAreRight(state.sides) ? sideNote(state.sides) : [];
  const variant = line.variant ? data.variant(line.variant) : null;
  const training = variant ? [' ', ...trainedText(line, variant, data, state)] : [];
  if (line.passes) return [make('b', {}, t('build_passes')), ' ', t(`build_passes_${state.part}`, passesValues(data, state)), ...training];
  if (line.unread) return [make('b', {}, t('build_fails')), ' ', t(`build_unread_${line.unread.reason}`, { given: line.unread.given })];
  if (line.error) return [...note, make('b', {}, t('build_fails')), ' ', make('code', {}, line.error)];
  const { word, values } = line.failure;
  const texts = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, valueText(value)]));
  return [...note, make('b', {}, t('build_fails')), ' ', t(`build_test_${word}`, texts), ...training];
}

/** Numbers of the row on display, for the part whose phrase quotes them. */
function passesValues(data, { part }) {
  if (part !== 'scale') return {};
  const row = data.printedHead('encoder.scores')[data.row];
  return { low: formatNumber(Math.min(...row)), high: formatNumber(Math.max(...row)) };
}

const valueText = (value) => (typeof value === 'number' && !Number.isInteger(value) ? formatNumber(value) : String(value));

const sideNote = ({ q, k, v }) => [t(`build_sides_${q}${k}${v}`), ' '];

/** A note on the model trained with this line. It quotes a sentence that fails in one of the training runs, if any does. */
function trainedText(line, variant, data, state) {
  const values = { loss: formatNumber(variant.loss), starts: variant.starts, perfect: variant.perfect_starts };
  if (line.passes) {
    const { stages } = data.answer;
    const isLater = stages.indexOf(line.variant) > stages.indexOf(data.part(state.part).stage);
    const later = isLater && data.parts.find(({ stage }) => stage === line.variant);
    return [later ? t('build_trained_later', { ...values, part: data.partNumber(later.name) }) : t('build_trained_right', values)];
  }
  const { failing } = variant;
  if (!failing) return [t('build_trained_harmless', values)];
  const sentence = { source: failing.source, written: sentenceText(failing) };
  return [t(variant.fails_at_median ? 'build_trained_wrong' : 'build_trained_sometimes', { ...values, ...sentence })];
}
