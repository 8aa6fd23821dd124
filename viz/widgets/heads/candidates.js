// Panel next to the player: the current token with its alternatives, and the beam's candidates with their outcomes.

import { make, fillElements, replace } from '../core/dom.js';
import { on, state } from '../core/state.js';
import { formatSigned, threeDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';

const SPEEDS = [0.5, 1, 2, 4];
const MAX_LISTED = 6; // candidates per step
const MAX_PATH_LENGTH = 16; // characters

/** Indices of the translation's nodes in the tree, and `start`: index of its first searched token, after a forced prefix. */
function findPath(nodes, target) {
  for (const start of target.keys()) {
    const pathIndices = new Set();
    let parent = -1;
    for (const { id } of target.slice(start)) {
      parent = nodes.findIndex((node) => node.parent === parent && node.id === id);
      if (parent < 0) break;
      pathIndices.add(parent);
    }
    if (pathIndices.size === target.length - start) return { pathIndices, start };
  }
  return { pathIndices: new Set(), start: 0 };
}

/**
 * Candidates of the step that writes a token, best first: text of the path, score, outcome, and whether it was chosen.
 * @param {any} translation with its search tree
 * @param {number} token
 */
export function listCandidates({ tree, target }, token) {
  const nodes = (tree ?? []).map(([parent, step, id, text, , score, outcome]) => ({ parent, step, id, text, score, outcome }));
  const { pathIndices, start } = findPath(nodes, target);
  const end = target.at(-1);
  const tokenText = ({ id, text }) => (end.special && id === end.id ? ` ${end.label}` : text);
  const pathText = (index) => (index < 0 ? '' : pathText(nodes[index].parent) + tokenText(nodes[index]));
  return nodes
    .map((node, index) => ({ ...node, index, isChosen: pathIndices.has(index) }))
    .filter(({ step }) => step === nodes[0].step + token - start)
    .sort((a, b) => b.score - a.score)
    .map(({ index, score, outcome, isChosen }) => ({ text: pathText(index).trim(), score, outcome, isChosen }));
}

/** Keeps the end of a long path, because its start is shown above. */
const truncateStart = (text) => (text.length > MAX_PATH_LENGTH ? `…${text.slice(-MAX_PATH_LENGTH)}` : text);

export class CandidatePanel {
  /** `setSpeed(speed)`: called when the visitor selects a speed. */
  constructor(setSpeed) {
    this.title = make('h3', {});
    this.name = make('span', {});
    this.speed = make('select', {}, ...SPEEDS.map((speed) => make('option', { value: speed }, `${speed} ×`)));
    this.speed.value = '1';
    this.speed.addEventListener('change', () => setSpeed(Number(this.speed.value)));
    this.alternatives = make('div', { class: 'rows' });
    this.beam = make('h3', {});
    this.candidates = make('div', { class: 'rows' });
    const top = make('div', { class: 'writing-top' }, this.title, make('label', {}, this.name, this.speed));
    this.element = make('section', { class: 'writing', hidden: true }, top, this.alternatives, this.beam, this.candidates);
    on(['written', 'translation', 'language', 'tab'], () => this.draw());
    this.draw();
  }

  draw() {
    const { translation, written } = state;
    this.element.hidden = !translation || written === null;
    if (this.element.hidden) return;
    const token = /** @type {any} */ (translation.target[written - 1]);
    const language = translation.model.target;
    this.name.textContent = t('player_speed');
    replace(this.title, ...fillElements(t('player_writes'), { token: make('b', {}, make('bdi', { lang: language }, token.label)) }));
    const row = (isChosen, text, bar, number, outcome = '') => {
      const line = make('i', { style: `width:${(100 * bar).toFixed(1)}%` });
      const name = make('span', { title: text }, make('bdi', { lang: language }, text || '␣'));
      return make(
        'div',
        { class: isChosen ? 'own' : '' },
        name,
        outcome ? make('span', {}, outcome) : make('span', { class: 'bar' }, line),
        number,
      );
    };
    const numeric = (text) => make('span', { class: 'numeric' }, text);
    const options = token.alternatives?.length ? token.alternatives : [[token.label, token.id, token.probability ?? 1]];
    const allOptions = options.some(([, id]) => id === token.id) ? options : [[token.label, token.id, token.probability], ...options];
    replace(
      this.alternatives,
      ...allOptions.map(([text, id, probability]) => row(id === token.id, text.trim(), probability, numeric(threeDecimals(probability)))),
    );
    const candidates = listCandidates(translation, written - 1);
    this.beam.textContent = candidates.length ? t('player_beam', { beam: translation.request.options.beam_size }) : t('player_alone');
    const outcomeText = (outcome) => t(`decoding_outcome_${outcome}`);
    replace(
      this.candidates,
      ...candidates
        .slice(0, MAX_LISTED)
        .map(({ text, score, outcome, isChosen }) =>
          row(isChosen, truncateStart(text), 0, numeric(formatSigned(score, 2)), outcomeText(outcome)),
        ),
    );
  }
}
