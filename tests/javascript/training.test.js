import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { TrainingRun, getVerdict } = await import('../../viz/widgets/lessons/training-run.js');
const { callWithRetry, queueStatus } = await import('../../viz/widgets/core/boot.js');

/** A server whose answers the test controls, and its requests. */
function server() {
  const requests = [];
  const answers = [];
  const calls = {
    begin: () =>
      new Promise((answer, fail) => {
        requests.push('begin');
        answers.push({ answer, fail });
      }),
    more: async ({ run }) => {
      requests.push(`more ${run}`);
      return { before: 0, messages: [], over: true };
    },
    stop: async ({ run }) => {
      requests.push(`stop ${run}`);
      return {};
    },
  };
  return { requests, calls, answers };
}
const soon = () => new Promise((done) => setImmediate(done));

test('Train, Stop, Train stops only the first run', async () => {
  const { requests, calls, answers } = server();
  const run = new TrainingRun(calls, () => {});
  const first = run.start({});
  await soon();
  run.stop(); // its id is not known yet
  const second = run.start({});
  await soon();
  assert.deepEqual(requests, ['begin']); // the server receives them in this order
  answers[0].answer({ run: 'one' });
  await first;
  await soon();
  answers[1].answer({ run: 'two' });
  await second;
  assert.deepEqual(requests.toSorted(), ['begin', 'begin', 'more two', 'stop one']);
  assert.deepEqual([run.phase, run.error], ['over', '']);
});

test('a run stopped twice while starting, and one that failed to start, do not block the next', async () => {
  const { requests, calls, answers } = server();
  const run = new TrainingRun(calls, () => {});
  const failed = run.start({});
  await soon();
  run.stop();
  const stoppedRun = run.start({}); // never requested, because it is stopped first
  run.stop();
  const last = run.start({});
  answers[0].fail(new Error('no way'));
  await Promise.all([failed, stoppedRun]);
  await soon();
  answers[1].answer({ run: 'two' });
  await last;
  assert.deepEqual(requests, ['begin', 'begin', 'more two']);
  assert.deepEqual([run.phase, run.error], ['over', '']);
});

test('a full queue is reported and retried; a stopped run is not retried and does not block the next', async () => {
  const full = { what: 'error', word: 'training_full', values: { before: 32, seconds: 40 } };
  const replies = [full, { run: 'one' }];
  const begins = [];
  const notices = [];
  queueStatus.setRetry = (_who, pause) => notices.push(pause);
  const answer = async () => {
    begins.push(performance.now());
    return replies.shift();
  };
  const calls = {
    begin: (values, isWanted, onRefused) => callWithRetry(answer, values, isWanted, onRefused),
    more: async () => ({ before: 0, messages: [], over: true }),
    stop: async () => ({}),
  };
  const run = new TrainingRun(calls, () => {});
  const first = run.start({});
  while (!run.full) await soon();
  assert.deepEqual([run.phase, run.full.includes('32'), run.error], ['waiting', true, '']);
  assert.deepEqual(notices, []); // the step shows it
  run.stop();
  await run.start({}); // immediately, without the 40 seconds of the first run
  await first;
  assert.deepEqual([run.phase, run.full, run.error, begins.length], ['over', '', '', 2]);
  assert.ok(begins[1] - begins[0] < 5000);
});

test('each of several translations of one sentence is correct', () => {
  const beginning = { accepted_targets: [['A beer.'], ['The dog.', 'The cat.', 'The child.']] };
  const verdicts = (sentence, ...texts) => texts.map((written) => getVerdict(beginning, sentence, written).replace('lesson_train_', ''));
  assert.deepEqual(verdicts(0, 'A beer.', 'A coke.'), ['right', 'wrong']);
  assert.deepEqual(verdicts(1, 'The dog.', 'The child.', 'A beer.'), ['right_of', 'right_of', 'wrong_of']);
});
