import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import './setup.js';

const phrases = JSON.parse(readFileSync('assets/words/en.json', 'utf8')); // those of the quiz load later than the page's
Object.assign(globalThis.headlightTables.words.en, phrases);

const stored = new Map();
const storage = { getItem: (key) => stored.get(key) ?? null, setItem: (key, value) => stored.set(key, value) };
Object.defineProperty(globalThis, 'localStorage', { configurable: true, get: () => storage });

const { mark, isComplete, findUnreadable, UNKNOWN } = await import('../../viz/widgets/quiz/marking.js');
const { QuizProgress, STAGES, WAIT_MS } = await import('../../viz/widgets/quiz/quiz-progress.js');
const { answersCsv, countsCsv } = await import('../../viz/widgets/quiz/quiz-csv.js');
const { countAnswers, outcomeCounts } = await import('../../viz/widgets/quiz/class-counts.js');

const script = 'import json; from headlight.viz.lessons.quiz.forms import read_quiz; print(json.dumps(read_quiz({})))';
const bank = JSON.parse(execFileSync(process.env.PYTHON ?? 'python', ['-c', script], { maxBuffer: 1e8 }).toString());
const questions = Object.entries(bank.forms).flatMap(([form, items]) =>
  Object.entries(items).map(([item, question]) => [form, item, question]),
);

/** What a reader enters for an answer: numbers with two decimals. */
const entered = ({ kind }, answer) => (kind === 'numbers' ? answer.map((number) => number.toFixed(2).replace('-', '−')) : answer);

function freshProgress(random = Math.random, now = () => 1000) {
  stored.clear();
  return new QuizProgress(random, now);
}

test('every right answer and every mistake of all forms is marked as what it is', () => {
  assert.equal(questions.length, 36);
  for (const [form, item, question] of questions)
    for (const { name, answer } of question.outcomes) {
      const entry = entered(question, answer);
      assert.equal(mark(question, entry), name, `${form} ${item} ${name}`);
      assert.ok(isComplete(question, entry), `${form} ${item} ${name}`);
      if (question.kind === 'cells') assert.equal(mark(question, [...answer].reverse()), name);
    }
});

test('numbers count within 0.02, as sums too; other answers and open questions have their own names', () => {
  const { dot, mask, sides } = bank.forms.A;
  const [right] = dot.outcomes[0].answer;
  assert.equal(mark(dot, [`${right + 0.0199}`]), 'right');
  assert.equal(mark(dot, [`${right} + 2*0.25 - 0.5`]), 'right');
  assert.equal(mark(dot, [`${right + 0.03}`]), 'other');
  assert.equal(mark(dot, ['about three']), 'other');
  assert.equal(findUnreadable(dot, ['about three']), 'about three');
  assert.equal(findUnreadable(dot, ['−0,5']), undefined);
  assert.equal(mark(mask, [[0, 0]]), 'other');
  assert.equal(mark(sides, 'no such'), 'other');
  for (const question of [dot, mask, sides]) assert.equal(mark(question, null), UNKNOWN);
});

test('an answer is complete with all numbers, an option, or a cell in each row', () => {
  const { softmax, sides, shift, mask } = bank.forms.A;
  assert.equal(isComplete(softmax, ['1', '', '2']), false);
  assert.equal(isComplete(sides, null), false);
  assert.equal(isComplete(shift, [[0, 1]]), false);
  assert.equal(isComplete(mask, []), false);
  assert.equal(isComplete(mask, [[0, 1]]), true);
});

test('half of the browsers begin with either form, and the other one follows', () => {
  let first = 0;
  for (let browser = 0; browser < 400; browser++) {
    const progress = freshProgress(() => (browser + 0.5) / 400);
    progress.begin();
    const { forms } = progress.values;
    assert.deepEqual([...forms].sort(), ['A', 'B']);
    assert.deepEqual([progress.form('before'), progress.form('after'), progress.form('again')], [forms[0], forms[1], 'C']);
    progress.begin();
    assert.equal(progress.values.forms, forms); // chosen once
    first += forms === 'AB';
  }
  assert.equal(first, 200);
});

test('stages open one after the other, the last after two days', () => {
  let time = 5000;
  const progress = freshProgress(
    () => 0.3,
    () => time,
  );
  const answerAll = (stage) => {
    for (const item of progress.items(stage, bank.items)) progress.record(stage, item, { outcome: 'right', entry: '' }, bank.items);
  };
  assert.deepEqual(
    STAGES.map((stage) => progress.opensAt(stage)),
    [0, null, null],
  );
  progress.begin();
  answerAll('before');
  assert.deepEqual(
    STAGES.map((stage) => progress.opensAt(stage)),
    [0, 0, null],
  );
  answerAll('after');
  assert.equal(progress.opensAt('again'), 5000 + WAIT_MS);
  time += WAIT_MS;
  assert.equal(progress.opensAt('again'), 0);
  assert.equal(progress.count('again', bank.items), 3);
  const chosen = progress.items('again', bank.items);
  assert.equal(new Set(chosen).size, 3);
  assert.deepEqual(progress.items('again', bank.items), chosen);
  answerAll('again');
  assert.ok(progress.isDone('again'));
  assert.equal(progress.countRight('before'), 12);
});

test('the first answer to a question counts, and lessons keep their progress', () => {
  stored.set('headlight-learn', JSON.stringify({ done: { walk: 'done' } }));
  const progress = new QuizProgress();
  progress.begin();
  for (const outcome of ['turned', 'right']) progress.record('before', 'dot', { outcome, entry: ['1'] }, bank.items);
  assert.equal(progress.answers('before').dot.outcome, 'turned');
  assert.equal(progress.isDone('before'), false);
  const values = JSON.parse(stored.get('headlight-learn'));
  assert.equal(values.done.walk, 'done');
  progress.restart();
  assert.deepEqual(JSON.parse(stored.get('headlight-learn')).quiz, {});
});

test('what an earlier version or another program stored does not break the page', () => {
  const progress = freshProgress();
  stored.set('headlight-learn', JSON.stringify({ quiz: { again: ['gone', 'dot'] } }));
  assert.deepEqual(progress.items('again', bank.items), ['dot']);
  for (const text of ['{"quiz":null}', '{"quiz":"x"}', 'no JSON', '[]']) {
    stored.set('headlight-learn', text);
    assert.deepEqual(progress.answers('before'), {}, text);
    assert.equal(progress.items('again', bank.items).length, 3, text);
  }
});

test('the file has one row with scores of finished stages and every outcome', () => {
  const progress = freshProgress(() => 0.9);
  progress.begin();
  progress.setClass('BCDFG');
  for (const item of bank.items) progress.record('before', item, { outcome: item === 'dot' ? 'one' : 'right', entry: '' }, bank.items);
  progress.record('after', 'dot', { outcome: 'right', entry: '' }, bank.items);
  const [head, row] = answersCsv(progress, bank)
    .trim()
    .split('\r\n')
    .map((line) => line.split(','));
  const values = Object.fromEntries(head.map((name, index) => [name, row[index]]));
  assert.equal(head.length, row.length);
  assert.deepEqual([values.group, values.first_form, values.before, values.after, values.again], ['BCDFG', 'B', '11', '', '']);
  assert.deepEqual([values.before_dot, values.after_dot, values.after_mask], ['one', 'right', '']);
});

test('counts of a class add up over forms, in an order that does not show the right answer', () => {
  const counts = {
    'before.A.dot.right': 2,
    'before.B.dot.right': 3,
    'before.A.dot.one': 4,
    'after.A.dot.right': 9,
    'before.A.mask.next': 1,
  };
  assert.deepEqual(countAnswers(counts, 'before', 'dot'), { right: 5, all: 9 });
  assert.deepEqual(countAnswers(counts, 'again', 'dot'), { right: 0, all: 0 });
  const places = questions.map(([form, item, question]) => {
    const outcomes = outcomeCounts(counts, 'before', form, item, question);
    assert.deepEqual(
      outcomes.slice(-2).map(({ name }) => name),
      ['other', 'unknown'],
    );
    assert.equal(outcomes.length, question.outcomes.length + 2);
    return outcomes.findIndex(({ name }) => name === 'right');
  });
  assert.ok(new Set(places).size >= 3);
  assert.equal(outcomeCounts(counts, 'before', 'A', 'dot', bank.forms.A.dot).find(({ name }) => name === 'one').count, 4);
  assert.equal(countsCsv({ 'before.A.dot.right': 2 }), 'stage,form,question,answer,count\r\nbefore,A,dot,right,2\r\n');
});
