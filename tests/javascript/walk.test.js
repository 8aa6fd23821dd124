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
globalThis.document = /** @type {any} */ ({ createElementNS: () => new Element() });

const given = 'import json; from headlight.viz.lessons.walk import STEPS; print(json.dumps([step.as_json() for step in STEPS]))';
const WALK = JSON.parse(execFileSync(process.env.PYTHON ?? 'python3', ['-c', given], { encoding: 'utf8' }));
const { formula } = await import('../../viz/widgets/lessons/formula.js');
const { attentionParts } = await import('../../viz/widgets/lessons/step-numbers.js');
const { formulaFor } = await import('../../viz/widgets/lessons/step-phrases.js');
const { StepScene } = await import('../../viz/widgets/lessons/step-scene.js');

/** A formula of the walk as it is written for a model, as plain text. */
function walked(name, model) {
  const plain = { norm_first: true, positions: 'sinusoidal', activation: 'relu', scale_scores: true, scale_embedding: true };
  const biases = { attention_bias: true, feed_forward_bias: true, final_logits_bias: false, scale_output: false, rotary_base: 10000 };
  const own = { ...plain, ...biases, ...model };
  const step = WALK.find((each) => each.name === name);
  const scene = Object.assign(Object.create(StepScene.prototype), { step, model: own, result: null });
  const { formula: said, numbers } = formulaFor(scene);
  return { said: said && formula(said, attentionParts(own)).textContent.replaceAll(/\s/g, ''), numbers };
}

test('formulas of the feed-forward network are those of its bend, its gate and its biases', () => {
  assert.equal(walked('ff', {}).said, 'max(0,xW1+b1)W2+b2');
  assert.equal(walked('ff', { activation: 'gelu', feed_forward_bias: false }).said, 'GELU(xW1)W2');
  assert.equal(walked('ff', { activation: 'swiglu' }).said, '(SiLU(xWg+bg)·(xW1+b1))W2+b2');
  assert.equal(walked('ff', { activation: 'reglu', feed_forward_bias: false }).said, '(ReLU(xWg)·(xW1))W2');
});

test('formulas of positions are those of the model, and none where it has none', () => {
  assert.equal(walked('positions', {}).said, 'PE(p,2i)=sinp100002i/d');
  assert.equal(walked('positions', { positions: 'sinusoidal_halves' }).said, 'PE(p,i)=sinp100002i/d');
  assert.equal(walked('positions', { positions: 'sinusoidal_halves', closed_waves: true }).said, 'PE(p,i)=sinp10000i/(d/2−1)');
  assert.equal(walked('positions', { positions: 'learned' }).said, 'x←x+P[p]');
  assert.equal(walked('positions', { positions: 'rotary', rotary_base: 500 }).said, 'θi=p5002i/dk');
  assert.equal(walked('positions', { positions: 'alibi' }).said, 'sij←sij−m·|i−j|');
  assert.equal(walked('positions', { positions: 'relative' }).said, 'sij←sij+bj−i');
  assert.equal(walked('positions', { positions: 'none' }).said, '');
  assert.equal(walked('positions', { beside: true }).said, 'x=[E[id],PE(p)]');
  for (const positions of ['alibi', 'relative', 'none']) assert.deepEqual(walked('positions', { positions }).numbers, []);
});

test('what a model does not do stands in no formula of its attention, its sums and its logits', () => {
  assert.equal(walked('scale', {}).said, 's=q·kdk');
  assert.equal(walked('scale', { scale_scores: false, positions: 'relative' }).said, 's=q·k+b');
  assert.equal(walked('scale', { scale_scores: false }).said, 's=q·k');
  assert.equal(walked('scale', { positions: 'alibi' }).said, 's=q·kdk+b');
  assert.equal(walked('cross', { scale_scores: false }).said, 'softmax(qKT)V');
  assert.equal(walked('qkv', {}).said, 'q=xWQ+bQ,k=xWK+bK,v=xWV+bV');
  assert.equal(walked('qkv', { attention_bias: false }).said, 'q=xWQ,k=xWK,v=xWV');
  assert.equal(walked('join', { attention_bias: false }).said, 'a=[z1,…,z?]WO');
  assert.equal(walked('embed', { scale_embedding: false }).said, 'x=E[id]');
  assert.equal(walked('add', { norm_first: false }).said, 'x←norm(x+a)');
  assert.equal(walked('logits', {}).said, 'logitt=y·E[t]');
  assert.equal(walked('logits', { scale_output: true, final_logits_bias: true }).said, 'logitt=yd·E[t]+ct');
});
