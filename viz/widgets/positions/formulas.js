// Formulas of the positional encodings. Positions, pairs and dimensions count from 0, as in the paper.

import { make } from '../core/dom.js';

// _{subscript} and ^{superscript}. BASE stands for the model's base, POSITION for the row of its table.
const SCORE = 's_{ij} = q_{i} · k_{j} / √d';
const FORMULAS = {
  none: [SCORE],
  sinusoidal: ['PE(p, 2i) = sin(POSITION / 10000^{2i/d})', 'PE(p, 2i + 1) = cos(POSITION / 10000^{2i/d})'],
  sinusoidal_halves: ['PE(p, i) = sin(POSITION / 10000^{2i/d})', 'PE(p, d/2 + i) = cos(POSITION / 10000^{2i/d})'],
  closed_waves: ['PE(p, i) = sin(POSITION / 10000^{i/(d/2 − 1)})', 'PE(p, d/2 + i) = cos(POSITION / 10000^{i/(d/2 − 1)})'],
  learned: ['x_{p} = E_{p} + T_{p}'],
  rotary: ['(a, b) → (a cos pθ_{i} − b sin pθ_{i}, a sin pθ_{i} + b cos pθ_{i})', 'θ_{i} = BASE^{−2i/d}'],
  alibi: [`${SCORE} − m_{h} |i − j|`, 'm_{h} = 2^{−8h/n}'],
  relative: [`${SCORE} + B_{h, b(j − i)}`],
};

/** The formula of an encoding as lines of text; `offset`: table row of the first position. */
export function listFormulas({ encoding, base, offset, closed }) {
  const position = offset ? `(p + ${offset})` : 'p';
  const lines = FORMULAS[closed ? 'closed_waves' : encoding] ?? [];
  return lines.map((line) => line.replace('BASE', base).replace('POSITION', position));
}

/** The formula of an encoding as elements. */
export const formulaLines = (answer) => listFormulas(answer).map((line) => make('div', {}, ...formatScripts(line)));

/** Converts a line to text and elements for sub- and superscripts. */
function formatScripts(text) {
  return text
    .split(/([_^]\{[^}]*\})/)
    .filter(Boolean)
    .map((part) => {
      if (!/^[_^]\{/.test(part)) return part;
      return make(part[0] === '_' ? 'sub' : 'sup', {}, part.slice(2, -1));
    });
}
