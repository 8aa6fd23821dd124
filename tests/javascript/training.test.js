import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { TrainingRun, verdictOf } = await import('../../viz/widgets/lessons/trainingrun.js');

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

test('of several translations of one sentence, none is more right than the others', () => {
  const beginning = { right: [['A beer.'], ['The dog.', 'The cat.', 'The child.']] };
  const verdicts = (sentence, ...texts) => texts.map((written) => verdictOf(beginning, sentence, written).replace('lesson_train_', ''));
  assert.deepEqual(verdicts(0, 'A beer.', 'A coke.'), ['right', 'wrong']);
  assert.deepEqual(verdicts(1, 'The dog.', 'The child.', 'A beer.'), ['right_of', 'right_of', 'wrong_of']);
});
