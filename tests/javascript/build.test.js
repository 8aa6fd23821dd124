import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import './setup.js';

globalThis.document ??= /** @type {any} */ ({ documentElement: {} });
const { decimals, formatNumber, formatProducts, formatTerm, isRight, readSum } = await import('../../viz/widgets/parts/sums.js');
const { multiply, measureOverlap, scaleToShares, applySoftmax, averageNumbers, transpose } = await import(
  '../../viz/widgets/build/matrices.js'
);
const mistakes = await import('../../viz/widgets/build/mistakes.js');
const { columnsToType } = await import('../../viz/widgets/build/part-products.js');
const { outerColumn } = await import('../../viz/widgets/build/part-network.js');
const { positionTerms } = await import('../../viz/widgets/build/position-formula.js');
const { Fields } = await import('../../viz/widgets/build/fields.js');
const { BuildState } = await import('../../viz/widgets/build/build-state.js');
const { LessonData } = await import('../../viz/widgets/build/lesson-data.js');
const { sidesAreRight } = await import('../../viz/widgets/build/part-decoder.js');
const { countText, lossNote, shownVariant } = await import('../../viz/widgets/build/stage-results.js');

const script = 'import json; from headlight.viz.lessons.build import read_build; print(json.dumps(read_build({})))';
const answer = JSON.parse(execFileSync(process.env.PYTHON ?? 'python3', ['-c', script], { encoding: 'utf8', maxBuffer: 1 << 24 }));
const data = new LessonData(answer);
const PHRASES = JSON.parse(readFileSync('assets/words/en.json', 'utf8'));
const near = (a, b, tolerance = 1e-4) => assert.ok(Math.abs(a - b) <= tolerance, `${a} is not ${b}`);

test('a field takes a number or a sum, with the signs of phones and Chinese keyboards', () => {
  const cases = [
    ['0.5*1.2-0.3', 0.3],
    ['−0.57', -0.57],
    ['1.82×(−2.02)+1.84×(−.57)', 1.82 * -2.02 + 1.84 * -0.57],
    ['e^1.29', Math.exp(1.29)],
    ['e-1', Math.exp(-1)],
    ['3.62÷6.6', 3.62 / 6.6],
    ['1，5 ＋'.replace('＋', '+1'), 2.5],
    ['√2', Math.SQRT2],
    ['2/(1+3)', 0.5],
    ['--2', 2],
  ];
  for (const [text, value] of cases) near(readSum(text), value);
  for (const text of ['', 'a', '1+', '(1', '1)', '1..2', 'alert(1)', '2**3']) assert.ok(Number.isNaN(readSum(text)), text);
});

test('numbers are written with a true minus and the decimals that they need', () => {
  assert.equal(formatNumber(-0.571), '−0.57');
  assert.equal(formatNumber(-0.001), '0.00');
  assert.equal(decimals(0.3), 1);
  assert.equal(decimals(0.31), 2);
  assert.equal(formatTerm(-0.4), '(−0.4)');
  assert.equal(formatProducts([1.82, 1.84], [-2.02, -0.57]), '1.82 × (−2.02) + 1.84 × (−0.57)');
  assert.ok(isRight(0.31, 0.3));
  assert.ok(!isRight(0.33, 0.3));
  assert.ok(isRight(9650, 9653));
});

test('what the page multiplies equals what the model calculated', () => {
  const { head, row } = data;
  const scores = data.rawScores.map((each) => each.map((score) => score / Math.SQRT2));
  for (const [index, each] of scores[row].entries()) near(each, data.ofHead('encoder.scores')[row][index], 1e-3);
  for (const [index, weight] of applySoftmax(scores[row]).entries()) near(weight, data.ofHead('encoder.shares')[row][index], 1e-3);
  const x = data.trace('encoder.x');
  for (const [name, matrix] of [
    ['q', 'query'],
    ['k', 'key'],
    ['v', 'value'],
  ]) {
    const product = multiply(x, data.headWeight(`encoder.${matrix}`));
    for (const column of [0, 1]) near(product[row][column], data.trace(`encoder.${matrix}`)[head][row][column], 1e-3);
    assert.equal(product[0].length, 2, name);
  }
  const attention = multiply(data.trace('encoder.joined'), data.weight('encoder.joined'));
  for (const column of [0, 1, 2, 3]) {
    near(attention[row][column], data.trace('encoder.received')[row][column], 1e-3);
    near(data.embedded[row][column] + data.positions[row][column], x[row][column]);
  }
  const added = data.trace('encoder.added')[row];
  const mean = averageNumbers(added);
  const deviation = Math.sqrt(averageNumbers(added.map((number) => (number - mean) ** 2)));
  near((added[0] - mean) / deviation, data.trace('encoder.normed')[row][0], 1e-3);
  const hidden = multiply(data.trace('encoder.normed'), data.weight('encoder.inner'));
  for (const column of [0, 5]) near(Math.max(0, hidden[row][column]), data.trace('encoder.hidden')[row][column], 1e-3);
});

test('a typed sum of the printed numbers is accepted everywhere', () => {
  const queries = data.ofHead('encoder.query');
  const keys = transpose(data.ofHead('encoder.key'));
  for (const column of columnsToType(data.rawScores[data.row])) {
    const text = formatProducts(
      queries[data.row],
      keys.map((each) => each[column]),
    );
    assert.ok(isRight(readSum(text), data.rawScores[data.row][column]), text);
  }
});

test('a reader who calculates with the printed numbers gets the printed results', () => {
  const { row, head } = data;
  const print = (number) => formatNumber(Math.sign(number) * (Math.abs(number) + 1e-6)); // by hand halves are rounded up
  const read = (number) => readSum(formatNumber(number));
  const check = (result, expected, name) => assert.equal(print(result), formatNumber(expected), name);
  const dotRead = (a, b) => a.reduce((total, number, index) => total + read(number) * read(b[index]), 0);
  const of = (name) => data.printedHead(`encoder.${name}`)[row];
  const [query, keys, values] = [data.ofHead('encoder.query')[row], data.ofHead('encoder.key'), data.ofHead('encoder.value')];
  const total = of('powers').reduce((sum, power) => sum + read(power), 0);
  check(total, data.printedHead('encoder.totals')[row], 'the sum of the exponentials');
  for (const [key, score] of of('scores').entries()) {
    check(dotRead(query, keys[key]), of('raw')[key], 'q · k');
    check(read(of('raw')[key]) / Math.SQRT2, score, '÷ √2');
    check(Math.exp(read(score)), of('powers')[key], 'e to the score');
    check(read(of('powers')[key]) / read(total), of('shares')[key], 'weight');
  }
  for (const column of [0, 1]) check(dotRead(of('shares'), transpose(values)[column]), of('mixed')[column], 'mixture');
  const whole = (name) => data.printed(`encoder.${name}`)[row];
  assert.deepEqual(data.printed('encoder.joined')[row].slice(2 * head, 2 * head + 2), of('mixed'));
  const [added, mean, spread] = [whole('added'), whole('mean'), whole('spread')];
  check(added.reduce((sum, number) => sum + read(number), 0) / 4, mean, 'mean');
  check(Math.sqrt(whole('centred').reduce((sum, number) => sum + read(number) ** 2, 0) / 4), spread, 'standard deviation');
  for (const column of [0, 1, 2, 3]) {
    check(dotRead(whole('joined'), transpose(data.weight('encoder.joined'))[column]), whole('received')[column], 'both heads');
    check(read(data.trace('encoder.x')[row][column]) + read(whole('received')[column]), added[column], 'x + a');
    check(read(added[column]) - read(mean), whole('centred')[column], 'x − μ');
    check((read(added[column]) - read(mean)) / read(spread), whole('normed')[column], 'normed');
    check(dotRead(whole('hidden'), transpose(data.weight('encoder.outer'))[column]), whole('network.received')[column], 'h · W₂');
  }
  const inner = transpose(data.weight('encoder.inner'));
  for (const [column, number] of whole('hidden').entries()) check(Math.max(0, dotRead(whole('normed'), inner[column])), number, 'hidden');
  assert.ok(Math.abs(whole('network.received')[outerColumn(data)]) > 0.5); // a number worth calculating
});

test('one weight of cross-attention follows from the printed query and keys', () => {
  const row = answer.written_row;
  const [query, raw, scores, powers, weights] = ['query', 'raw', 'scores', 'powers', 'shares'].map(
    (name) => data.printedHead(`cross.${name}`)[row],
  );
  const total = powers.reduce((sum, power) => sum + power, 0);
  for (const [key, numbers] of data.printedHead('cross.key').entries()) {
    near(query[0] * numbers[0] + query[1] * numbers[1], raw[key], 0.0051);
    near(raw[key] / Math.SQRT2, scores[key], 0.0051);
    near(powers[key] / total, weights[key], 0.0051);
    near(weights[key], data.ofHead('cross.shares')[row][key], 0.0201); // the model's own
  }
});

test('the loss of each place is that of its printed probability', () => {
  const [right, losses] = ['next.right', 'next.losses'].map((name) => data.printed(name));
  assert.equal(right.length, data.writtenWords.length);
  for (const [place, probability] of right.entries()) {
    near(-Math.log(probability), losses[place], 0.0051);
    const ids = answer.target_words.indexOf(data.writtenWords[place]);
    near(applySoftmax(data.trace('logits')[place])[ids], probability, 0.0101);
  }
  near(losses.reduce((sum, loss) => sum + loss, 0) / losses.length, data.printed('next.loss'), 0.0051);
});

test('the terms of a place are its row of the table', () => {
  for (const place of [0, 1, 5]) {
    const numbers = positionTerms(place, answer.wavelength_base).map((term) => readSum(term.split(' = ')[1]));
    for (const [column, number] of numbers.entries()) near(number, answer.positions[place][column], 0.0551);
  }
});

test('the number of right sentences is said, and a low loss without the mask has its reason', () => {
  globalThis.headlightTables.words.en = { ...globalThis.headlightTables.words.en, ...PHRASES };
  const whole = countText(data, data.variant('cross'));
  assert.equal(whole, PHRASES.build_all_right.replace('{all}', '84'));
  assert.match(countText(data, data.variant('mask')), /24/);
  assert.equal(countText(data, data.variant('norm')), PHRASES.build_none_right);
  const note = (name, removed = '') => lossNote(data, { removed }, name);
  for (const stage of ['positions', 'residual', 'norm', 'network']) assert.match(note(stage), /copying.*part 12/);
  assert.equal(note('mask'), PHRASES.build_loss_honest);
  for (const stage of ['average', 'cross']) assert.equal(note(stage), '');
  assert.match(note('without_mask', 'mask'), /copying/);
  assert.equal(note('without_norm', 'norm'), '');
});

test('text that is being typed outlives a drawing, and is taken once', () => {
  const state = new BuildState(data.names);
  const filled = [];
  const fields = new Fields(state, (key, byEnter) => filled.push([key, byEnter]));
  fields.fields.set('0', { expected: 0.5 });
  state.setDraft('0', '0.5');
  assert.equal(state.draft('0'), '0.5');
  fields.commit('0', true);
  fields.commit('0', false); // the field is left after Enter
  assert.deepEqual(filled, [['0', true]]);
  assert.equal(fields.status('0'), 'right');
});

test('a wrong number has the reason that fits it', () => {
  const left = [[1, 2, 3, 4]];
  const right = [
    [0.5, 1],
    [0.6, 1],
    [-0.7, 2],
    [0.8, 1],
  ];
  const result = 0.5 + 1.2 - 2.1 + 3.2;
  assert.deepEqual(mistakes.wrongProduct(result - 1.2, left, right, 0, 0), ['build_wrong_missing', { number: 2, count: 4 }]);
  assert.deepEqual(mistakes.wrongProduct(result + 4.2, left, right, 0, 0), ['build_wrong_sign', { number: 3 }]);
  assert.deepEqual(mistakes.wrongProduct(13, left, right, 0, 0), ['build_wrong_column']);
  assert.equal(mistakes.wrongProduct(50, left, right, 0, 0), null);
  const [queries, keys, words] = [
    [
      [1, 2],
      [3, 1],
    ],
    [
      [0.5, 1.5],
      [2, 0.3],
    ],
    ['我', '你'],
  ];
  const score = (value) => mistakes.wrongScore(value, queries, keys, 0, 1, words)?.[0];
  assert.equal(score(2), 'build_wrong_one_product'); // 1 × 2, without 2 × 0.3
  assert.equal(score(2.6 / Math.SQRT2), 'build_wrong_too_soon');
  assert.equal(score(1.4), 'build_wrong_signs');
  assert.equal(score(3), 'build_wrong_asks'); // 你 asks 我
  assert.equal(score(3.5), 'build_wrong_column_of');
  assert.equal(mistakes.wrongScaled(1, 2)[0], 'build_wrong_half');
  assert.equal(mistakes.wrongShare(0.25, [1, 2, 3, 4], 0)[0], 'build_wrong_equal');
  assert.equal(mistakes.wrongShare(0.6, [1, 2, 3, 4], 0), null);
  assert.equal(mistakes.wrongShare(2 / 6, [2, 4], 0)[0], 'build_wrong_score_share');
  assert.equal(mistakes.wrongMixture(2, [[1], [3]], 0, 0)[0], 'build_wrong_average');
  assert.equal(mistakes.wrongSpread(4, 2, 4)[0], 'build_wrong_variance');
  assert.equal(mistakes.wrongSpread(2 * Math.sqrt(4 / 3), 2, 4)[0], 'build_wrong_less_one');
  assert.equal(mistakes.wrongHidden(-0.5, -0.5)[0], 'build_wrong_relu');
  assert.equal(mistakes.wrongHidden(0.5, 0.5), null);
  assert.equal(mistakes.wrongAddition(-1, 1, 2)[0], 'build_wrong_subtracted');
});

test('a mask is judged by the cells that give the answer away', () => {
  const judge = (isMasked) => mistakes.maskReason(mistakes.maskMistakes(4, isMasked));
  assert.deepEqual(
    judge((row, column) => column > row),
    ['build_mask_right'],
  );
  assert.deepEqual(
    judge(() => false),
    ['build_mask_shown', { count: 6 }],
  );
  assert.deepEqual(
    judge((row, column) => column >= row),
    ['build_mask_own'],
  );
  assert.deepEqual(
    judge((row, column) => column < row),
    ['build_mask_early'],
  );
});

test('a drawing scores the overlap with the row', () => {
  near(measureOverlap(scaleToShares([1, 1]), [0.9, 0.1]), 0.6);
  near(measureOverlap(scaleToShares([9, 1]), [0.9, 0.1]), 1);
  assert.deepEqual(scaleToShares([0, 0]), [0.5, 0.5]);
  for (const row of answer.rows_to_draw) near(measureOverlap(row.weights, row.weights), 1, 1e-3);
});

test('only the decoder asks the encoder', () => {
  assert.ok(sidesAreRight({ q: 'y', k: 'm', v: 'm' }));
  assert.ok(!sidesAreRight({ q: 'm', k: 'y', v: 'y' }));
});

test('the results shown are those of the removed part, an earlier stage, or the model so far', () => {
  const state = { removed: '', stage: '', lastBuilt: 'mask' };
  assert.equal(shownVariant(data, state), 'mask');
  assert.equal(shownVariant(data, { ...state, stage: 'scale' }), 'scale');
  assert.equal(shownVariant(data, { ...state, removed: 'positions' }), 'without_positions');
  for (const part of data.parts) {
    assert.ok(data.variant(part.stage), part.name);
    if (part.without) assert.ok(data.variant(part.without), part.name);
  }
});

test('parts in the model are remembered, and forgotten on request', async () => {
  const stored = new Map();
  const storage = { getItem: (key) => stored.get(key) ?? null, setItem: (key, value) => stored.set(key, value) };
  Object.defineProperty(globalThis, 'localStorage', { configurable: true, get: () => storage });
  const { BuildState, countBuilt } = await import('../../viz/widgets/build/build-state.js');
  const state = new BuildState(data.names);
  state.put();
  state.open('qkv');
  state.put();
  assert.equal(countBuilt(), 2);
  assert.equal(new BuildState(data.names).lastBuilt, 'qkv');
  state.restart();
  assert.equal(countBuilt(), 0);
  assert.equal(state.part, 'words');
});
