import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import './setup.js';

/** As much of an element as a formula needs: its text. */
class Element {
  constructor() {
    this.textContent = '';
  }
  append(...children) {
    for (const child of children) this.textContent += child.textContent ?? child;
  }
  setAttribute() {}
}
globalThis.document = /** @type {any} */ ({ createElementNS: () => new Element(), createElement: () => new Element() });

const script = 'import json; from headlight.viz.lessons.walk import STEPS; print(json.dumps([step.as_json() for step in STEPS]))';
const WALK = JSON.parse(execFileSync(process.env.PYTHON ?? 'python3', ['-c', script], { encoding: 'utf8' }));
const { formula, formulaLines } = await import('../../viz/widgets/lessons/formula.js');
const { attentionParts, logitNumbers } = await import('../../viz/widgets/lessons/step-numbers.js');
const { formulaFor } = await import('../../viz/widgets/lessons/step-phrases.js');
const { StepScene } = await import('../../viz/widgets/lessons/step-scene.js');

/** The formula of a step for a model, as plain text. */
function walkFormula(name, model) {
  const plain = { norm_first: true, positions: 'sinusoidal', activation: 'relu', scale_scores: true, scale_embedding: true };
  const biases = { attention_bias: true, feed_forward_bias: true, final_logits_bias: false, scale_output: false, rotary_base: 10000 };
  const own = { ...plain, ...biases, ...model };
  const step = WALK.find((each) => each.name === name);
  const scene = Object.assign(Object.create(StepScene.prototype), { step, model: own, result: null });
  const { formula: source, numbers } = formulaFor(scene);
  const lines = formulaLines(source).map((line) => formula(line, attentionParts(own)).textContent);
  return { text: lines.join(';').replaceAll(/\s/g, ''), numbers };
}

test('feed-forward formulas show activation, gate and biases', () => {
  assert.equal(walkFormula('ff', {}).text, 'max(0,LN(x)W1+b1)W2+b2');
  assert.equal(walkFormula('ff', { activation: 'gelu', feed_forward_bias: false }).text, 'GELU(LN(x)W1)W2');
  assert.equal(walkFormula('ff', { activation: 'swiglu' }).text, '(SiLU(LN(x)Wg+bg)·(LN(x)W1+b1))W2+b2');
  assert.equal(walkFormula('ff', { activation: 'reglu', feed_forward_bias: false, norm_first: false }).text, '(ReLU(xWg)·(xW1))W2');
});

test('position formulas match the encoding, and are empty without one', () => {
  assert.equal(walkFormula('positions', {}).text, 'PE(p,2i)=sinp100002i/d;PE(p,2i+1)=cosp100002i/d');
  assert.equal(walkFormula('positions', { positions: 'sinusoidal_halves' }).text, 'PE(p,i)=sinp100002i/d;PE(p,d/2+i)=cosp100002i/d');
  assert.equal(
    walkFormula('positions', { positions: 'sinusoidal_halves', closed_waves: true }).text,
    'PE(p,i)=sinp10000i/(d/2−1);PE(p,d/2+i)=cosp10000i/(d/2−1)',
  );
  assert.equal(walkFormula('positions', { positions: 'learned' }).text, 'x←x+P[p]');
  assert.equal(walkFormula('positions', { positions: 'rotary', rotary_base: 500 }).text, 'θi=p5002i/dk');
  assert.equal(walkFormula('positions', { positions: 'alibi' }).text, 'sij←sij−m·|i−j|');
  assert.equal(walkFormula('positions', { positions: 'relative' }).text, 'sij←sij+bj−i');
  assert.equal(walkFormula('positions', { positions: 'none' }).text, '');
  assert.equal(walkFormula('positions', { beside: true }).text, 'x=[E[id],PE(p)]');
  for (const positions of ['alibi', 'relative', 'none']) assert.deepEqual(walkFormula('positions', { positions }).numbers, []);
});

test('formulas of attention, sums and logits omit parts that the model lacks', () => {
  assert.equal(walkFormula('scale', {}).text, 's=q·kdk');
  assert.equal(walkFormula('scale', { scale_scores: false, positions: 'relative' }).text, 's=q·k+b');
  assert.equal(walkFormula('scale', { scale_scores: false }).text, 's=q·k');
  assert.equal(walkFormula('scale', { positions: 'alibi' }).text, 's=q·kdk+b');
  assert.equal(walkFormula('cross', { scale_scores: false }).text, 'softmax(qKT)V');
  assert.equal(walkFormula('qkv', {}).text, 'q=LN(x)WQ+bQ;k=LN(x)WK+bK;v=LN(x)WV+bV');
  assert.equal(walkFormula('qkv', { norm: 'rms' }).text, 'q=RMS(x)WQ+bQ;k=RMS(x)WK+bK;v=RMS(x)WV+bV');
  assert.equal(walkFormula('qkv', { attention_bias: false, norm_first: false }).text, 'q=xWQ;k=xWK;v=xWV');
  assert.equal(walkFormula('join', { attention_bias: false }).text, 'a=[z1,…,z?]WO');
  assert.equal(walkFormula('embed', { scale_embedding: false }).text, 'x=E[id]');
  assert.equal(walkFormula('add', { norm_first: false }).text, 'x←x+a');
  assert.equal(walkFormula('norm', {}).text, 'LN(x)=γ·x−μσ2+ϵ+β'.replace('ϵ', 'ε'));
  assert.equal(walkFormula('norm', { norm: 'rms' }).text, 'RMS(x)=γ·x1d∑ixi2+ε');
  assert.equal(walkFormula('logits', {}).text, 'logitt=y·E[t]');
  assert.equal(walkFormula('logits', { scale_output: true, final_logits_bias: true }).text, 'logitt=yd·E[t]+ct');
});

test('numbers of logits are those of the written token, also if another one is likelier', () => {
  const best = [
    ['book', 7, 3],
    ['books', 5, 2],
  ];
  const sceneFor = (target) => ({
    sentenceTensors: { logits: [] },
    logits: { best, log_sum: 4, mean: 0, spread: 1 },
    translation: { target },
    look: { written: 0 },
  });
  const { written_id: id, written_logit: logit, written_less: less, written_chance: chance } = logitNumbers(sceneFor([{ id: 5 }]));
  assert.deepEqual([id, logit, less, chance], [5, '2.0000', '−2.0000', '0.1353']);
  assert.equal(logitNumbers(sceneFor([{ id: 9, probability: Math.exp(-5) }])).written_logit, '−1.0000'); // not among the best
});

test('on a narrow page the sum of a product writes out one term, and so its result is in sight', async () => {
  const { sumFormula } = await import('../../viz/widgets/lessons/product-view.js');
  const parts = { row: [2, -1, 3], weights: [0.5, 1, 1], terms: [1, -1, 3], bias: 1, index: 4, total: 4, column: 4, cell: null };
  assert.equal(
    sumFormula({ name: 'q' }, parts),
    'q_{4} = 2.000 \\cdot 0.500 + \\text{(}−1.000\\text{)} \\cdot 1.000 + \\ldots + 1.000 = 4.0000',
  );
  assert.equal(sumFormula({ name: 'q' }, parts, 1), 'q_{4} = 2.000 \\cdot 0.500 + \\ldots + 1.000 = 4.0000');
});
