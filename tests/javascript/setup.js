// What comes with the modules on a page: words, colours and fields, as Python gives them. Tests import modules after this one.

import { execFileSync } from 'node:child_process';

const given = 'import json; from headlight.viz.server.static_files import tables; print(json.dumps(tables()))';
globalThis.headlightTables = JSON.parse(execFileSync(process.env.PYTHON ?? 'python3', ['-c', given], { encoding: 'utf8' }));

const { decodeWeights, LEVEL_OF_ONE } = await import('../../viz/widgets/core/weight-decoding.js');
const every = Array.from({ length: 1 << 16 }, (_, code) => String.fromCharCode(code)).join('');
const values = decodeWeights(every);

// The letters in the order of their cells, each with the end of its cell. A value is the middle of its cell but for the first and the last.
const cells = [...values.keys()].filter((code) => values[code] || every[code] === '!').sort((one, other) => values[one] - values[other]);
const ends = [2];
for (const code of cells.slice(1, -1)) ends.push(2 * values[code] - ends.at(-1));

/** The letter of a weight, as the server would send it: that of the cell in which it lies. */
export function letterOf(weight) {
  const at = ends.findIndex((end) => weight * LEVEL_OF_ONE < end);
  return every[cells.at(at)];
}

/** A translation as the server sends it: source of `sources` words, target of `targets`, one map of cross-attention for each head. */
export function answered({ sources, targets, maps, layers = 1 }) {
  const tokens = (labels, text) => {
    let at = 0;
    return labels.map((label, word) => {
      const start = text.indexOf(label, at);
      at = start + label.length;
      return { label, word, start: [...text.slice(0, start)].length, end: [...text.slice(0, at)].length, special: label.startsWith('<') };
    });
  };
  const letters = maps.flat(2).map(letterOf).join('');
  const shape = [layers, maps.length / layers, targets.length, sources.length];
  const [sourceText, text] = [sources.join(' '), targets.join(' ')];
  return {
    model: { name: 'de-en', source: 'deu_Latn', target: 'en', best_head: null },
    request: { text: sourceText, model: 'de-en', options: { beam_size: 4, alternatives: 3 } },
    source_text: sourceText,
    text,
    start: { label: '<s>', start: 0, end: 0, special: true },
    source: tokens(sources, sourceText),
    target: tokens(targets, text),
    attention: { cross: { shape, letters } },
  };
}
