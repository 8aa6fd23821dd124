import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { fetchDeferred } = await import('../../viz/widgets/translate/deferred-answer.js');

/** A server that answers in turn; an error is thrown. */
const serverOf = (...answers) => {
  const server = {
    asked: 0,
    fetch_deferred: async () => {
      const answer = answers[server.asked++];
      return answer;
    },
  };
  return server;
};
const message = { name: 'a', turn: 3 };
const lost = { what: 'error', word: 'unreachable' };

test('a parcel that is lost on the way is asked for once more, and no oftener', async () => {
  const server = serverOf(lost, { what: 'answer', text: 'yes' });
  assert.deepEqual(await fetchDeferred(server, message), { what: 'answer', text: 'yes', turn: 3 });
  assert.equal(server.asked, 2);
  const gone = serverOf(lost, lost, { what: 'answer' });
  const fault = await fetchDeferred(gone, message);
  assert.deepEqual([fault.what, fault.word, fault.turn, gone.asked], ['error', 'unreachable', 3, 2]);
});

test('what the server says of a parcel is said, and it is not asked again', async () => {
  const server = serverOf({ what: 'error', word: 'no_answer' }, { what: 'answer' });
  const fault = await fetchDeferred(server, message);
  assert.deepEqual([fault.what, fault.word, server.asked], ['error', 'no_answer', 1]);
});
