// The formulas of the Positions tab, evaluated from their text, give the tensors of the model.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import './setup.js';

const { listFormulas } = await import('../../viz/widgets/positions/formulas.js');

const [LENGTH, WIDTH] = [7, 22];
const pythonScript = `
import json, sys
from headlight.model.core.config import TransformerConfig
from headlight.model.core.positions import make_positions
sizes = {"source_vocabulary": 11, "target_vocabulary": 11, "d_model": ${WIDTH}, "heads": 1, "head_width": ${WIDTH}}
configs = [TransformerConfig(**sizes, **each) for each in json.loads(sys.argv[1])]
print(json.dumps([make_positions(each, causal=False).as_array(${LENGTH}).tolist() for each in configs]))
`;
const WAVES = [
  ['sinusoidal', { positions: 'sinusoidal' }, {}],
  ['sinusoidal, from a later row', { positions: 'sinusoidal', position_offset: 2 }, { offset: 2 }],
  ['in halves', { positions: 'sinusoidal_halves' }, {}],
  ['in halves, closed', { positions: 'sinusoidal_halves', closed_waves: true }, { closed: true }],
];
const configs = JSON.stringify(WAVES.map(([, config]) => config));
const tensors = JSON.parse(execFileSync(process.env.PYTHON ?? 'python3', ['-c', pythonScript, configs], { encoding: 'utf8' }));

/** An expression of a formula as a function of position, pair and width. */
function evaluator(text) {
  const script = text
    .replaceAll('−', '-')
    .replaceAll(/\^\{([^}]*)\}/g, '**($1)')
    .replaceAll('2i', '2*i')
    .replaceAll(/\b(sin|cos)\b/g, 'Math.$1');
  return new Function('p', 'i', 'd', `return ${script}`);
}

for (const [at, [name, config, about]] of WAVES.entries())
  test(`the formula of sinusoids ${name} matches the tensor of the model`, () => {
    const lines = listFormulas({ encoding: config.positions, base: 10_000, offset: 0, closed: false, ...about });
    const table = Array.from({ length: LENGTH }, () => Array(WIDTH).fill(NaN));
    for (const line of lines) {
      const [, column, value] = line.match(/^PE\(p, (.+?)\) = (.+)$/);
      const [columnAt, valueAt] = [evaluator(column), evaluator(value)];
      for (let p = 0; p < LENGTH; p++) for (let i = 0; i < WIDTH / 2; i++) table[p][columnAt(p, i, WIDTH)] = valueAt(p, i, WIDTH);
    }
    for (const [p, row] of tensors[at].entries())
      for (const [column, number] of row.entries()) assert.ok(Math.abs(table[p][column] - number) < 1e-5, `${p}, ${column}`);
  });

test('the paper counts dimensions from 0: sines are in the even ones', () => {
  const lines = listFormulas({ encoding: 'sinusoidal', base: 10_000, offset: 0, closed: false });
  assert.deepEqual(lines, ['PE(p, 2i) = sin(p / 10000^{2i/d})', 'PE(p, 2i + 1) = cos(p / 10000^{2i/d})']);
});
