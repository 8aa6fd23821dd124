// What comes with the modules on a page: words, colours and fields, as Python gives them. Tests import modules after this one.

import { execFileSync } from 'node:child_process';

const given = 'import json; from headlight.viz.wire.static import tables; print(json.dumps(tables()))';
globalThis.headlightTables = JSON.parse(execFileSync(process.env.PYTHON ?? 'python3', ['-c', given], { encoding: 'utf8' }));

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
  const weights = Uint16Array.from(maps.flat(2), (weight) => Math.round(weight * 65535));
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
    attention: { cross: { shape, weights: Buffer.from(weights.buffer).toString('base64') } },
  };
}
