import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { StreamTransport } = await import('../../viz/widgets/translate/transport.js');
const { readMessages, server } = await import('../../viz/widgets/core/server.js');

/** A response whose body arrives in these chunks. */
const chunkedResponse = (pieces, status = 200) => {
  const start = (to) => {
    for (const each of pieces) to.enqueue(each);
    to.close();
  };
  return new Response(new ReadableStream({ start }), { status });
};
const bytes = (text) => new TextEncoder().encode(text);

const lines = (...messages) => messages.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('');

test('messages are parsed for any split into chunks', async () => {
  const messages = [
    { what: 'progress', text: '猫 «Ä»' },
    { what: 'answer', text: 'a\nb' },
  ];
  const whole = bytes(lines(...messages));
  for (let cut = 1; cut < whole.length; cut++) {
    const received = [];
    await readMessages(chunkedResponse([whole.slice(0, cut), whole.slice(cut)]), (message) => received.push(message));
    assert.deepEqual(received, messages, `${cut}`);
  }
});

test('a request sends its session id, and a newer one aborts it', async () => {
  const requests = [];
  globalThis.fetch = /** @type {any} */ (
    async (address, options) => {
      requests.push({ address: String(address), ...options, body: JSON.parse(options.body) });
      return chunkedResponse([bytes(lines({ what: 'answer', turn: requests.length }))]);
    }
  );
  const received = [];
  const transport = new StreamTransport(server, (message) => received.push(message.turn), assert.fail);
  const first = transport.send({ turn: 1, text: 'Guten Tag.' });
  const second = transport.send({ turn: 2, text: 'Guten Tag!' });
  await Promise.all([first, second]);
  assert.deepEqual(received.at(-1), 2);
  assert.match(requests[0].address, /\/stream\/stream_messages$/);
  assert.deepEqual(requests[0].body.values, { turn: 1, text: 'Guten Tag.' });
  assert.equal(requests[0].body.session, requests[1].body.session);
  assert.deepEqual([requests[0].signal.aborted, requests[1].signal.aborted], [true, false]);
});

test('a broken connection is reported with its turn; an aborted one is not', async () => {
  const lost = [];
  const transport = new StreamTransport(server, assert.fail, (turn, broke) => lost.push([turn, broke]));
  globalThis.fetch = /** @type {any} */ (
    async () => {
      throw new TypeError('Failed to fetch');
    }
  );
  await transport.send({ turn: 3 });
  assert.deepEqual(lost, [[3, true]]);
  const request = transport.send({ turn: 4 });
  transport.stop();
  await request;
  assert.deepEqual(lost, [[3, true]]);
});

test('a server missing behind its proxy is reported as lost, not as a broken connection', async () => {
  const lost = [];
  for (const status of [502, 503, 504]) {
    globalThis.fetch = /** @type {any} */ (async () => chunkedResponse([bytes('<html>Bad Gateway')], status));
    await new StreamTransport(server, assert.fail, (turn, broke = false) => lost.push([turn, broke])).send({ turn: status });
  }
  assert.deepEqual(lost, [
    [502, false],
    [503, false],
    [504, false],
  ]);
});

test('errors of the server become errors of the request', async () => {
  const reportErrors = async (body, status) => {
    const received = [];
    globalThis.fetch = /** @type {any} */ (async () => chunkedResponse([bytes(body)], status));
    await new StreamTransport(server, (message) => received.push(message), assert.fail).send({ turn: 5 });
    return received.map(({ what, word, turn }) => `${what} ${word} ${turn}`);
  };
  assert.deepEqual(await reportErrors(JSON.stringify({ word: 'leaving', field: 'data', values: {} }), 503), ['error leaving 5']);
  assert.deepEqual(await reportErrors('<html>Too Many Requests', 429), ['error unreachable 5']); // a response of a proxy
  assert.deepEqual(await reportErrors(JSON.stringify({ detail: 'no' }), 403), ['error unreachable 5']);
});

test('a page of another version is reloaded and reports its turn', async () => {
  const lost = [];
  globalThis.fetch = /** @type {any} */ (
    async () => chunkedResponse([bytes(JSON.stringify({ word: 'unknown_endpoint', values: {} }))], 404)
  );
  const loaded = new Promise((done) => {
    globalThis.location = /** @type {any} */ ({ reload: () => done(true) });
  });
  await new StreamTransport(
    server,
    () => {},
    (turn) => lost.push(turn),
  ).send({ turn: 6 });
  assert.deepEqual(lost, [6]);
  assert.ok(await loaded);
});

test('a response without a last message becomes an error', async () => {
  const received = [];
  globalThis.fetch = /** @type {any} */ (async () => chunkedResponse([bytes(lines({ what: 'progress', turn: 7 }))]));
  await new StreamTransport(server, (message) => received.push(message), assert.fail).send({ turn: 7 });
  assert.deepEqual(
    received.map(({ what, word }) => word ?? what),
    ['progress', 'our_fault'],
  );
});

test('an error in a message handler is reported and does not stop the stream', async () => {
  const reported = [];
  globalThis.reportError = (error) => reported.push(error.message);
  globalThis.fetch = /** @type {any} */ (async () => chunkedResponse([bytes(lines({ what: 'progress' }, { what: 'answer' }))]));
  const received = [];
  const handler = ({ what }) => {
    received.push(what);
    throw new Error(what);
  };
  await new StreamTransport(server, handler, assert.fail).send({ turn: 8 });
  assert.deepEqual(
    [received, reported],
    [
      ['progress', 'answer'],
      ['progress', 'answer'],
    ],
  );
});

test('a call sends its values and ticket, and resolves to the response', async () => {
  const requests = [];
  const answers = [
    [{ what: 'waiting', before: 2, ticket: 'place' }, 200],
    [{ word: 'leaving', values: {} }, 503],
    ['<html>', 502],
  ];
  globalThis.fetch = /** @type {any} */ (
    async (address, options) => {
      const [body, status] = answers[requests.length];
      requests.push([String(address), JSON.parse(options.body), options.keepalive]);
      return chunkedResponse([bytes(typeof body === 'string' ? body : JSON.stringify(body))], status);
    }
  );
  assert.deepEqual(await server.judge({ text: 'a' }), answers[0][0]);
  assert.equal((await server.judge({ text: 'a' }, 'place')).word, 'leaving');
  assert.equal((await server.stop_training({ run: 'r' }, '', { keepalive: true })).word, 'unreachable');
  assert.match(requests[0][0], /\/call\/judge$/);
  assert.deepEqual([requests[0][1].ticket, requests[1][1].ticket, requests[2][2]], ['', 'place', true]);
  globalThis.fetch = /** @type {any} */ (async () => Promise.reject(new TypeError('Failed to fetch')));
  assert.equal((await server.judge({})).word, 'unreachable');
  assert.equal(await Promise.resolve(server), server); // the server object is not a thenable
});
