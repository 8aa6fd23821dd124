import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

/** As much of a page as a formula needs. */
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
  kept: {},
  getItem(key) {
    return this.kept[key] ?? null;
  },
  setItem(key, value) {
    this.kept[key] = value;
  },
});

const { formula } = await import('../../viz/widgets/lessons/formula.js');
const { readChoice, writeChoice } = await import('../../viz/widgets/lessons/choice.js');
const { guessed, mark, marked, score } = await import('../../viz/widgets/lessons/progress.js');
const { Tensors, combined, products, sliced, softmax, unpacked } = await import('../../viz/widgets/lessons/tensors.js');
const { written } = await import('../../viz/widgets/lessons/numbers.js');

const said = (source, numbers = {}) => String(formula(source, numbers)).replaceAll(/<\/?(?:math|mrow)>/g, '');

test('a fraction over a root is MathML, with numbers in the place of their names', () => {
  assert.equal(
    said('\\frac{@raw}{\\sqrt{@width}}', { raw: '−4.5', width: '32' }),
    '<mfrac><mn>−4.5</mn><msqrt><mn>32</mn></msqrt></mfrac>',
  );
  assert.equal(said('w_j^{2}'), '<msubsup><mi>w</mi><mi>j</mi><mn>2</mn></msubsup>');
  assert.equal(said('\\sum_j'), '<munder><mo>∑</mo><mi>j</mi></munder>');
  assert.equal(said('s = -\\infty'), '<mi>s</mi><mo>=</mo><mo>−</mo><mo>∞</mo>');
});

test('a number that is not known is a question mark, and one may stand for several terms', () => {
  assert.equal(said('@unknown'), '<mn>?</mn>');
  assert.equal(said('@both', { both: '2 \\cdot 3' }), '<mn>2</mn><mo>·</mo><mn>3</mn>');
});

test('a formula that is wrong says so', () => {
  assert.throws(() => formula('\\teleport'), /teleport/);
  assert.throws(() => formula('a}'), /too many/);
});

test('what is chosen comes back from the address as it went in', () => {
  const choice = { lesson: 'walk', step: 'softmax', part: 2, chosen: { token: 4, dimension: 31, encoder: { layer: 1, head: 7 } } };
  assert.equal(writeChoice(choice), 'walk.softmax.2.token-4.dimension-31.encoder-1-7');
  assert.deepEqual(readChoice(writeChoice(choice)), choice);
  assert.deepEqual(readChoice(''), { lesson: '', step: '', part: 0, chosen: {} });
  assert.equal(writeChoice(readChoice('')), '');
});

test('an address that makes no sense chooses nothing', () => {
  const read = readChoice('walk.softmax.x.token--1.token-1-2.encoder-3.evil-4.__proto__-5.key-99999999');
  assert.deepEqual(read, { lesson: 'walk', step: 'softmax', part: 0, chosen: {} });
});

test('the first guess at a question counts, and a lesson that is done stays done', () => {
  guessed('one', false);
  guessed('one', true);
  guessed('two', true);
  assert.deepEqual(score(), { right: 1, all: 2 });
  mark('walk', 'done');
  mark('walk', 'begun');
  assert.equal(marked('walk'), 'done');
  assert.equal(marked('other'), undefined);
});

test('softmax by hand: [1, e] / (1 + e), and nothing where a key is masked', () => {
  const [first, second] = softmax(Float32Array.of(0, 1));
  assert.ok(Math.abs(first - 1 / (1 + Math.E)) < 1e-7);
  assert.ok(Math.abs(second - Math.E / (1 + Math.E)) < 1e-7);
  assert.deepEqual(softmax(Float32Array.of(3, 100), [true, false]), [1, 0]);
  assert.deepEqual(softmax(Float32Array.of(1000, 1000)), [0.5, 0.5]);
});

test('every row meets every row', () => {
  const one = { rows: 2, columns: 2, numbers: Float32Array.of(1, 2, 3, 4) };
  const other = { rows: 3, columns: 2, numbers: Float32Array.of(1, 0, 0, 1, 1, 1) };
  assert.deepEqual(products(one, other), { rows: 2, columns: 3, numbers: Float32Array.of(1, 2, 3, 3, 4, 7) });
  assert.deepEqual([...combined(one, one, (left, right) => left - right).numbers], [0, 0, 0, 0]);
});

test('a head is cut out of all heads', () => {
  const tensor = { shape: [2, 1, 3], numbers: Float32Array.of(1, 2, 3, 4, 5, 6) };
  assert.deepEqual(sliced(tensor, 1), { rows: 1, columns: 3, numbers: Float32Array.of(4, 5, 6) });
});

const sent = (...numbers) => ({ shape: [1, numbers.length], numbers: Buffer.from(Float32Array.from(numbers).buffer).toString('base64') });
const sentence = (text) => ({ asked: () => ({ text }), target: [{ id: 3 }] });

test('numbers arrive as they were sent', () => {
  assert.deepEqual([...unpacked(sent(0.5, -2)).numbers], [0.5, -2]);
});

test('a tensor is asked for once, also while it is on its way, and again after a failure', async () => {
  const asks = [];
  let fails = true;
  const tensors = new Tensors(async ({ names }) => {
    asks.push(names);
    if (fails) throw new Error('busy');
    return { model: { heads: 2 }, tensors: Object.fromEntries(names.map((name) => [name, sent(1)])) };
  });
  const one = sentence('Ja.');
  await assert.rejects(tensors.bring(one, ['a']));
  fails = false;
  await Promise.all([tensors.bring(one, ['a', 'b']), tensors.bring(one, ['b'])]);
  await tensors.bring(one, ['a', 'b', 'c']);
  assert.deepEqual(asks, [['a'], ['a', 'b'], ['c']]);
  assert.ok(tensors.of(one).has(['a', 'b', 'c']));
});

test('the tensors of a few sentences are kept', async () => {
  const tensors = new Tensors(async ({ names }) => ({ model: {}, tensors: Object.fromEntries(names.map((name) => [name, sent(1)])) }));
  for (const text of ['a', 'b', 'c', 'd']) await tensors.bring(sentence(text), ['x']);
  assert.equal(tensors.of(sentence('d')).has(['x']), true);
  assert.equal(tensors.of(sentence('a')).has(['x']), false);
});

test('numbers have the digits that suit their size', () => {
  assert.deepEqual(
    [0.41193, -23.6341, 1940.81].map((each) => written(each)),
    ['0.4119', '−23.634', '1940.8'],
  );
});
