import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { TrainingRun, getVerdict } = await import('../../viz/widgets/lessons/training-run.js');
const { callWithRetry, queueStatus } = await import('../../viz/widgets/core/boot.js');

/** A server that answers when the test says so, and what it was asked. */
function server() {
  const asked = [];
  const answers = [];
  const asks = {
    begin: () =>
      new Promise((answer, fail) => {
        asked.push('begin');
        answers.push({ answer, fail });
      }),
    more: async ({ run }) => {
      asked.push(`more ${run}`);
      return { before: 0, messages: [], over: true };
    },
    stop: async ({ run }) => {
      asked.push(`stop ${run}`);
      return {};
    },
  };
  return { asked, asks, answers };
}
const soon = () => new Promise((done) => setImmediate(done));

test('Train, Stop, Train: what is stopped is the first run alone', async () => {
  const { asked, asks, answers } = server();
  const run = new TrainingRun(asks, () => {});
  const first = run.begin({});
  await soon();
  run.stop(); // its name is not known yet
  const second = run.begin({});
  await soon();
  assert.deepEqual(asked, ['begin']); // the server gets them in this order
  answers[0].answer({ run: 'one' });
  await first;
  await soon();
  answers[1].answer({ run: 'two' });
  await second;
  assert.deepEqual(asked.toSorted(), ['begin', 'begin', 'more two', 'stop one']);
  assert.deepEqual([run.phase, run.error], ['over', '']);
});

test('a run that is stopped twice while it begins, and one whose beginning failed, hold nothing up', async () => {
  const { asked, asks, answers } = server();
  const run = new TrainingRun(asks, () => {});
  const failed = run.begin({});
  await soon();
  run.stop();
  const dropped = run.begin({}); // never asked for: it is stopped before its turn
  run.stop();
  const last = run.begin({});
  answers[0].fail(new Error('no way'));
  await Promise.all([failed, dropped]);
  await soon();
  answers[1].answer({ run: 'two' });
  await last;
  assert.deepEqual(asked, ['begin', 'begin', 'more two']);
  assert.deepEqual([run.phase, run.error], ['over', '']);
});

test('a full queue is waited for and said; whoever stops meanwhile is not asked for again, and holds nothing up', async () => {
  const full = { what: 'error', word: 'training_full', values: { before: 32, seconds: 40 } };
  const said = [full, { run: 'one' }];
  const begins = [];
  const signs = [];
  queueStatus.setRetry = (_who, pause) => signs.push(pause);
  const answer = async () => {
    begins.push(performance.now());
    return said.shift();
  };
  const asks = {
    begin: (values, wanted, refused) => callWithRetry(answer, values, wanted, refused),
    more: async () => ({ before: 0, messages: [], over: true }),
    stop: async () => ({}),
  };
  const run = new TrainingRun(asks, () => {});
  const first = run.begin({});
  while (!run.full) await soon();
  assert.deepEqual([run.phase, run.full.includes('32'), run.error], ['waiting', true, '']);
  assert.deepEqual(signs, []); // the step itself says it
  run.stop();
  await run.begin({}); // at once, and not after the forty seconds of the first
  await first;
  assert.deepEqual([run.phase, run.full, run.error, begins.length], ['over', '', '', 2]);
  assert.ok(begins[1] - begins[0] < 5000);
});

test('of several translations of one sentence, none is more right than the others', () => {
  const beginning = { accepted_targets: [['A beer.'], ['The dog.', 'The cat.', 'The child.']] };
  const verdicts = (sentence, ...texts) => texts.map((written) => getVerdict(beginning, sentence, written).replace('lesson_train_', ''));
  assert.deepEqual(verdicts(0, 'A beer.', 'A coke.'), ['right', 'wrong']);
  assert.deepEqual(verdicts(1, 'The dog.', 'The child.', 'A beer.'), ['right_of', 'right_of', 'wrong_of']);
});
