// What each way to say where a token stands computes, as formulas.

import { make } from '../core/dom.js';

// _{below} and ^{above}; BASE is the model's own.
const SCORE = 's_{ij} = q_{i} · k_{j} / √d';
const FORMULAS = {
  none: [SCORE],
  sinusoidal: ['PE(p, 2i + 1) = sin(p / 10000^{2i/d})', 'PE(p, 2i + 2) = cos(p / 10000^{2i/d})'],
  sinusoidal_halves: ['PE(p, i + 1) = sin(p / 10000^{2i/d})', 'PE(p, d/2 + i + 1) = cos(p / 10000^{2i/d})'],
  learned: ['x_{p} = E_{p} + T_{p}'],
  rotary: ['(a, b) → (a cos pθ_{i} − b sin pθ_{i}, a sin pθ_{i} + b cos pθ_{i})', 'θ_{i} = BASE^{−2i/d}'],
  alibi: [`${SCORE} − m_{h} |i − j|`, 'm_{h} = 2^{−8h/n}'],
  relative: [`${SCORE} + B_{h, b(j − i)}`],
};

/** The lines of an encoding's formula. */
export function formulaLines(encoding, base) {
  return (FORMULAS[encoding] ?? []).map((line) => make('div', {}, ...written(line.replace('BASE', base))));
}

/** Text with its sub- and superscripts. */
function written(text) {
  return text
    .split(/([_^]\{[^}]*\})/)
    .filter(Boolean)
    .map((part) => {
      if (!/^[_^]\{/.test(part)) return part;
      return make(part[0] === '_' ? 'sub' : 'sup', {}, part.slice(2, -1));
    });
}
