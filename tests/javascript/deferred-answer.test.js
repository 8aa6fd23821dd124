import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { fetchDeferred } = await import('../../viz/widgets/translate/deferred-answer.js');

/** A server that answers in turn; an error is thrown. */
const makeServer = (...answers) => {
  const server = {
    requests: 0,
    fetch_deferred: async () => {
      const answer = answers[server.requests++];
      return answer;
    },
  };
  return server;
};
const message = { name: 'a', turn: 3 };
const lost = { what: 'error', word: 'unreachable' };

test('a lost parcel is requested once more, and no more often', async () => {
  const server = makeServer(lost, { what: 'answer', text: 'yes' });
  assert.deepEqual(await fetchDeferred(server, message), { what: 'answer', text: 'yes', turn: 3 });
  assert.equal(server.requests, 2);
  const unreachable = makeServer(lost, lost, { what: 'answer' });
  const fault = await fetchDeferred(unreachable, message);
  assert.deepEqual([fault.what, fault.word, fault.turn, unreachable.requests], ['error', 'unreachable', 3, 2]);
});

test('an error of the server is returned without a retry', async () => {
  const server = makeServer({ what: 'error', word: 'no_answer' }, { what: 'answer' });
  const fault = await fetchDeferred(server, message);
  assert.deepEqual([fault.what, fault.word, server.requests], ['error', 'no_answer', 1]);
});
