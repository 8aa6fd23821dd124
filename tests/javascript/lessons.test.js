import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

/** The part of the DOM that formulas need. */
class Node {
  constructor(name) {
    this.name = name;
    this.children = [];
    this.attributes = {};
  }
  append(...children) {
    this.children.push(...children);
  }
  setAttribute(name, value) {
    this.attributes[name] = value;
  }
  get textContent() {
    return this.children.map((child) => (typeof child === 'string' ? child : child.textContent)).join('');
  }
  toString() {
    return `<${this.name}>${this.children.join('')}</${this.name}>`;
  }
}
globalThis.document = /** @type {any} */ ({ createElementNS: (_, name) => new Node(name), createElement: (name) => new Node(name) });
globalThis.localStorage = /** @type {any} */ ({
  items: {},
  getItem(key) {
    return this.items[key] ?? null;
  },
  setItem(key, value) {
    this.items[key] = value;
  },
});

const { formula } = await import('../../viz/widgets/lessons/formula.js');
const { parseLessonLink, formatLessonLink } = await import('../../viz/widgets/lessons/lesson-link.js');
const { Answers } = await import('../../viz/widgets/lessons/answers.js');
const { countAnswers, recordGuess, recordUnasked, setLessonStatus, lessonStatus, score } = await import(
  '../../viz/widgets/lessons/progress.js'
);
const { decodeArray } = await import('../../viz/widgets/core/base64-arrays.js');
const { TensorCache, elementwise, products, headSlice, softmax } = await import('../../viz/widgets/lessons/tensor-cache.js');
const { columnNames, legendEnds, rowNames } = await import('../../viz/widgets/lessons/captions.js');
const { StepScene } = await import('../../viz/widgets/lessons/step-scene.js');
const { formatNumber } = await import('../../viz/widgets/lessons/step-numbers.js');
const { ExperimentCache } = await import('../../viz/widgets/lessons/experiment-cache.js');
const { axis, formatTick } = await import('../../viz/widgets/lessons/line-plot.js');
const { formatValue, resolveValues } = await import('../../viz/widgets/lessons/control-values.js');

const formulaText = (source, numbers = {}) => String(formula(source, numbers)).replaceAll(/<\/?(?:math|mrow)>/g, '');

test('formulas become MathML with numbers inserted', () => {
  assert.equal(
    formulaText('\\frac{@raw}{\\sqrt{@width}}', { raw: '−4.5', width: '32' }),
    '<mfrac><mn>−4.5</mn><msqrt><mn>32</mn></msqrt></mfrac>',
  );
  assert.equal(formulaText('w_j^{2}'), '<msubsup><mi>w</mi><mi>j</mi><mn>2</mn></msubsup>');
  assert.equal(formulaText('\\sum_j'), '<munder><mo>∑</mo><mi>j</mi></munder>');
  assert.equal(formulaText('s = -\\infty'), '<mi>s</mi><mo>=</mo><mo>−</mo><mo>∞</mo>');
});

test('letters are not replaced by those of the mathematical alphabets', () => {
  const letters = (node) => (node.name === 'mi' ? [node] : node.children.filter((child) => child.children).flatMap(letters));
  const names = letters(formula('\\frac{x - \\mu}{\\sigma} + \\sin x'));
  assert.deepEqual(
    names.map((node) => [node.textContent, node.attributes.mathvariant]),
    [
      ['x', 'normal'],
      ['μ', 'normal'],
      ['σ', 'normal'],
      ['sin', undefined],
      ['x', 'normal'],
    ],
  );
});

test('an unknown number is a question mark, and one number can be several terms', () => {
  assert.equal(formulaText('@unknown'), '<mn>?</mn>');
  assert.equal(formulaText('@both', { both: '2 \\cdot 3' }), '<mn>2</mn><mo>·</mo><mn>3</mn>');
});

test('an invalid formula throws', () => {
  assert.throws(() => formula('\\teleport'), /teleport/);
  assert.throws(() => formula('a}'), /unmatched/);
});

test('a selection roundtrips through the address', () => {
  const choice = {
    lesson: 'walk',
    step: 'softmax',
    part: 2,
    selection: { token: 4, dimension: 31, encoder: { layer: 1, head: 7 } },
    asks: false,
  };
  assert.equal(formatLessonLink(choice), 'walk.softmax.2.token-4.dimension-31.encoder-1-7');
  assert.deepEqual(parseLessonLink(formatLessonLink(choice)), choice);
  assert.deepEqual(parseLessonLink(''), { lesson: '', step: '', part: 0, selection: {}, asks: false });
  assert.equal(formatLessonLink(parseLessonLink('')), '');
});

test('an answer is stored with its scene until all are cleared', () => {
  const answers = new Answers();
  assert.deepEqual(answers.get('one'), { chosenOption: undefined, answeredScene: undefined });
  const scene = { result: {} };
  answers.record('one', 2, scene);
  answers.record('other', -1, { result: null });
  assert.deepEqual(answers.get('one'), { chosenOption: 2, answeredScene: scene });
  assert.deepEqual(answers.get('other'), { chosenOption: -1, answeredScene: undefined });
  answers.clear();
  assert.deepEqual(answers.get('one'), { chosenOption: undefined, answeredScene: undefined });
});

test('a link for teachers enables questions', () => {
  const link = 'heads.spread.0.token-4.encoder-0-7.set-width-64.asks';
  assert.equal(parseLessonLink(link).asks, true);
  assert.equal(formatLessonLink(parseLessonLink(link)), link);
  assert.deepEqual(parseLessonLink('heads.spread.0.set-own-asks').asks, false);
});

test('an invalid address selects nothing', () => {
  const read = parseLessonLink('walk.softmax.x.token--1.token-1-2.encoder-3.evil-4.__proto__-5.key-99999999');
  assert.deepEqual(read, { lesson: 'walk', step: 'softmax', part: 0, selection: {}, asks: false });
});

test('the first guess at a question counts', () => {
  recordGuess('one', false);
  recordGuess('one', true);
  recordGuess('two', true);
  assert.deepEqual(score(), { right: 1, all: 2 });
});

test('a lesson is done when its questions are answered, not when its last step is open', () => {
  const walk = {
    name: 'walk',
    steps: [
      { name: 'tokens', ask: {} },
      { name: 'embed', ask: null },
      { name: 'mask', ask: {} },
      { name: 'cross', ask: {} },
    ],
  };
  assert.equal(lessonStatus(walk), undefined);
  setLessonStatus('walk', 'done'); // what opening the last step stored
  assert.equal(lessonStatus(walk), 'begun');
  recordGuess('lesson_walk_tokens', true);
  recordGuess('lesson_walk_mask', false);
  assert.deepEqual(countAnswers(walk), { answered: 2, all: 3, steps: 3 });
  assert.equal(lessonStatus(walk), 'begun');
  recordUnasked('lesson_walk_cross'); // its numbers were inconclusive
  assert.equal(lessonStatus(walk), 'done');
  const silent = { name: 'silent', steps: [{ name: 'only', ask: null }] };
  assert.equal(lessonStatus(silent), undefined);
  setLessonStatus('silent', 'done');
  assert.equal(lessonStatus(silent), 'done');
});

/** A cross-attention scene of 20 source tokens whose row 1 attends to token 15. */
function longScene() {
  const source = Array.from({ length: 20 }, (_, index) => ({ label: `s${index}` }));
  const target = [{ label: 'I' }, { label: 'see' }];
  const translation = {
    columns: () => source,
    rows: () => target,
    previousToken: (_, row) => (row ? target[row - 1] : { label: '<s>' }),
  };
  const scene = Object.create(StepScene.prototype);
  return Object.assign(scene, { translation, kind: 'cross', look: { written: 1 }, step: { figures: [], picks: [] } });
}

test('columns of a long sentence are cut around the strongest key of the row', () => {
  const numbers = new Float32Array(40);
  numbers[20 + 15] = 0.98;
  const { indices } = columnNames(longScene(), false, { rows: 2, columns: 20, numbers });
  assert.ok(indices.includes(15), String(indices));
  assert.equal(indices.length, 12);
});

test('a legend ends where the numbers end', () => {
  assert.deepEqual(legendEnds('signed', 1), ['−1.00', '+1.00']); // sine and cosine
  assert.deepEqual(legendEnds('positive', 27), ['0', '27']);
  assert.deepEqual(legendEnds('share', 1), ['0', '1']);
});

test('a row of the decoder is named by the token read and the token written', () => {
  const scene = longScene();
  assert.deepEqual(rowNames({ rows: 'tokens' }, scene, 2, false).names, ['<s> → I', 'I → see']);
});

test('softmax by hand: [1, e] / (1 + e), and zero for masked keys', () => {
  const [first, second] = softmax(Float32Array.of(0, 1));
  assert.ok(Math.abs(first - 1 / (1 + Math.E)) < 1e-7);
  assert.ok(Math.abs(second - Math.E / (1 + Math.E)) < 1e-7);
  assert.deepEqual(softmax(Float32Array.of(3, 100), [true, false]), [1, 0]);
  assert.deepEqual(softmax(Float32Array.of(1000, 1000)), [0.5, 0.5]);
});

test('products multiply all pairs of rows', () => {
  const one = { rows: 2, columns: 2, numbers: Float32Array.of(1, 2, 3, 4) };
  const other = { rows: 3, columns: 2, numbers: Float32Array.of(1, 0, 0, 1, 1, 1) };
  assert.deepEqual(products(one, other), { rows: 2, columns: 3, numbers: Float32Array.of(1, 2, 3, 3, 4, 7) });
  assert.deepEqual([...elementwise(one, one, (left, right) => left - right).numbers], [0, 0, 0, 0]);
});

test('a head is sliced from all heads', () => {
  const tensor = { shape: [2, 1, 3], numbers: Float32Array.of(1, 2, 3, 4, 5, 6) };
  assert.deepEqual(headSlice(tensor, 1), { rows: 1, columns: 3, numbers: Float32Array.of(4, 5, 6) });
});

const sent = (...numbers) => ({ shape: [1, numbers.length], numbers: Buffer.from(Float32Array.from(numbers).buffer).toString('base64') });
const sentence = (text) => ({ requestValues: () => ({ text }), target: [{ id: 3 }] });

test('arrays are decoded', () => {
  assert.deepEqual([...decodeArray(sent(0.5, -2)).numbers], [0.5, -2]);
});

test('a tensor is requested once, also while it is loading, and again after a failure', async () => {
  const requests = [];
  let fails = true;
  const tensors = new TensorCache(async ({ names }) => {
    requests.push(names);
    if (fails) throw new Error('busy');
    return { model: { heads: 2 }, tensors: Object.fromEntries(names.map((name) => [name, sent(1)])) };
  });
  const one = sentence('Ja.');
  await assert.rejects(tensors.load(one, ['a']));
  fails = false;
  await Promise.all([tensors.load(one, ['a', 'b']), tensors.load(one, ['b'])]);
  await tensors.load(one, ['a', 'b', 'c']);
  assert.deepEqual(requests, [['a'], ['a', 'b'], ['c']]);
  assert.ok(tensors.get(one).has(['a', 'b', 'c']));
});

test('tensors of the last few sentences are cached', async () => {
  const tensors = new TensorCache(async ({ names }) => ({ model: {}, tensors: Object.fromEntries(names.map((name) => [name, sent(1)])) }));
  for (const text of ['a', 'b', 'c', 'd']) await tensors.load(sentence(text), ['x']);
  assert.equal(tensors.get(sentence('d')).has(['x']), true);
  assert.equal(tensors.get(sentence('a')).has(['x']), false);
});

test('numbers have decimals according to their size', () => {
  assert.deepEqual(
    [0.41193, -23.6341, 1940.81].map((each) => formatNumber(each)),
    ['0.4119', '−23.634', '1940.8'],
  );
});

// ---------------------------------------------------------------- experiments

const CONTROLS = [
  { form: 'choice', name: 'kind', options: ['a', 'b.c'], start: 'a' },
  { form: 'switch', name: 'on', start: false },
  { form: 'slider', name: 'width', low: 2, high: 7, start: 5 },
  { form: 'button', name: 'seed', max_presses: 3, start: 0 },
  { form: 'places', name: 'erased', max_selected: 3, start: [] },
  { form: 'text', name: 'own', max_length: 20, start: '' },
];

test('changed controls are in the address, and no others', () => {
  const values = { kind: 'b.c', on: true, width: 7, seed: 3, erased: [0, 12], own: 'Das ist-gut. <b>' };
  const set = Object.fromEntries(CONTROLS.map((control) => [control.name, formatValue(control, values[control.name])]));
  const choice = { lesson: 'heads', step: 'spread', part: 0, selection: { token: 4, encoder: { layer: 0, head: 7 }, set }, asks: false };
  assert.deepEqual(parseLessonLink(formatLessonLink(choice)), choice);
  assert.deepEqual(resolveValues(CONTROLS, parseLessonLink(formatLessonLink(choice)).selection.set), values);
  assert.equal(formatValue(CONTROLS[2], 5), undefined);
});

test('invalid values in an address give the defaults of the controls', () => {
  const defaults = resolveValues(CONTROLS, undefined);
  assert.deepEqual(defaults, { kind: 'a', on: false, width: 5, seed: 0, erased: [], own: '' });
  const odd = { kind: 'c', on: '2', width: '8', seed: '-1', erased: '1_x', own: 'x'.repeat(21) };
  assert.deepEqual(resolveValues(CONTROLS, odd), defaults);
  assert.deepEqual(resolveValues(CONTROLS, { width: '3.5', erased: '1_2_3_4', seed: 'x' }), defaults);
  assert.deepEqual(parseLessonLink('heads.spread.0.set-own-%E0%A4%A.set--3').selection, {});
});

test('one experiment runs at a time; of the waiting ones, only the newest runs', async () => {
  const [widths, answers] = [[], []];
  const experiments = new ExperimentCache((values) => {
    widths.push(values.set.width);
    return new Promise((done) => answers.push(done));
  });
  const translation = /** @type {any} */ ({ requestValues: () => ({ text: 'a' }), target: [{ id: 1 }] });
  const fetchResult = (width) => experiments.fetch(translation, 'heads', 'spread', { width });
  const [first, second, third] = [fetchResult(1), fetchResult(2), fetchResult(3)];
  assert.equal(await second, null);
  answers.shift()('one');
  assert.equal(await first, 'one');
  await new Promise(setImmediate);
  assert.deepEqual(widths, [1, 3]);
  answers.shift()('three');
  assert.equal(await third, 'three');
  assert.equal(await fetchResult(1), 'one');
  assert.equal(experiments.find(translation, 'heads', 'spread', { width: 3 }), 'three');
  assert.deepEqual(widths, [1, 3]);
});

test('after a failed experiment the next one runs', async () => {
  const failing = [1];
  const experiments = new ExperimentCache(async ({ set }) => {
    if (failing.includes(set.width)) throw new Error('unreachable');
    return set.width;
  });
  const translation = /** @type {any} */ ({ requestValues: () => ({}), target: [] });
  const fetchResult = (width) => experiments.fetch(translation, 'heads', 'spread', { width });
  const [first, second] = [fetchResult(1), fetchResult(2)];
  await assert.rejects(first, /unreachable/);
  assert.equal(await second, 2);
  failing.pop();
  assert.equal(await fetchResult(1), 1);
});

test('axis ticks are round numbers, and powers of ten if logarithmic', () => {
  assert.deepEqual(axis([0, 23]).ticks, [0, 5, 10, 15, 20]);
  assert.deepEqual(axis([-1, 1]).ticks.map(formatTick), ['−1', '−0.5', '0', '0.5', '1']);
  assert.deepEqual(axis([1e-6, 0.5], { log: true }).ticks.map(formatTick), ['10⁻⁶', '10⁻⁴', '0.01']);
  assert.deepEqual(axis([0.004, 0.06], { log: true }).ticks.map(formatTick), ['0.005', '0.01', '0.02', '0.05']);
  assert.deepEqual(axis([0.02, 0.09], { log: true }).ticks.map(formatTick), ['0.02', '0.05']);
  const { scale } = axis([4, 512], { log: true });
  assert.deepEqual([4, 512].map(scale), [0, 1]);
  assert.ok(Math.abs(scale(32) - 3 / 7) < 1e-9);
  assert.equal(axis([3, 3]).scale(3), 0.5);
});
