import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { StreamTransport } = await import('../../viz/widgets/translate/transport.js');
const { readMessages, server } = await import('../../viz/widgets/core/server.js');

/** A response whose body comes in these pieces of bytes. */
const inPieces = (pieces, status = 200) => {
  const start = (to) => {
    for (const each of pieces) to.enqueue(each);
    to.close();
  };
  return new Response(new ReadableStream({ start }), { status });
};
const bytes = (text) => new TextEncoder().encode(text);

const lines = (...messages) => messages.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('');

test('messages are heard whole, however they are cut on the way', async () => {
  const messages = [
    { what: 'progress', text: '猫 «Ä»' },
    { what: 'answer', text: 'a\nb' },
  ];
  const whole = bytes(lines(...messages));
  for (let cut = 1; cut < whole.length; cut++) {
    const heard = [];
    await readMessages(inPieces([whole.slice(0, cut), whole.slice(cut)]), (message) => heard.push(message));
    assert.deepEqual(heard, messages, `${cut}`);
  }
});

test('a request names its session, and a newer one lets go of it', async () => {
  const asked = [];
  globalThis.fetch = /** @type {any} */ (
    async (address, options) => {
      asked.push({ address: String(address), ...options, body: JSON.parse(options.body) });
      return inPieces([bytes(lines({ what: 'answer', turn: asked.length }))]);
    }
  );
  const heard = [];
  const way = new StreamTransport(server, (message) => heard.push(message.turn), assert.fail);
  const first = way.send({ turn: 1, text: 'Guten Tag.' });
  const second = way.send({ turn: 2, text: 'Guten Tag!' });
  await Promise.all([first, second]);
  assert.deepEqual(heard.at(-1), 2);
  assert.match(asked[0].address, /\/stream\/stream_messages$/);
  assert.deepEqual(asked[0].body.values, { turn: 1, text: 'Guten Tag.' });
  assert.equal(asked[0].body.session, asked[1].body.session);
  assert.deepEqual([asked[0].signal.aborted, asked[1].signal.aborted], [true, false]);
});

test('a line that breaks is told with its number; one that was let go is not', async () => {
  const lost = [];
  const way = new StreamTransport(server, assert.fail, (turn, broke) => lost.push([turn, broke]));
  globalThis.fetch = /** @type {any} */ (
    async () => {
      throw new TypeError('Failed to fetch');
    }
  );
  await way.send({ turn: 3 });
  assert.deepEqual(lost, [[3, true]]);
  const going = way.send({ turn: 4 });
  way.stop();
  await going;
  assert.deepEqual(lost, [[3, true]]);
});

test('a server that is gone behind its proxy is lost, and no line broke', async () => {
  const lost = [];
  for (const status of [502, 503, 504]) {
    globalThis.fetch = /** @type {any} */ (async () => inPieces([bytes('<html>Bad Gateway')], status));
    await new StreamTransport(server, assert.fail, (turn, broke = false) => lost.push([turn, broke])).send({ turn: status });
  }
  assert.deepEqual(lost, [
    [502, false],
    [503, false],
    [504, false],
  ]);
});

test('what the server refuses is said as an error of the request', async () => {
  const said = async (body, status) => {
    const heard = [];
    globalThis.fetch = /** @type {any} */ (async () => inPieces([bytes(body)], status));
    await new StreamTransport(server, (message) => heard.push(message), assert.fail).send({ turn: 5 });
    return heard.map(({ what, word, turn }) => `${what} ${word} ${turn}`);
  };
  assert.deepEqual(await said(JSON.stringify({ word: 'leaving', field: 'data', values: {} }), 503), ['error leaving 5']);
  assert.deepEqual(await said('<html>Too Many Requests', 429), ['error unreachable 5']); // a proxy has no words of ours
  assert.deepEqual(await said(JSON.stringify({ detail: 'no' }), 403), ['error unreachable 5']);
});

test('a page of another version is loaded anew, and keeps what was asked for', async () => {
  const lost = [];
  globalThis.fetch = /** @type {any} */ (async () => inPieces([bytes(JSON.stringify({ word: 'unknown_endpoint', values: {} }))], 404));
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

test('a response that ends without a last message is told as a fault of ours', async () => {
  const heard = [];
  globalThis.fetch = /** @type {any} */ (async () => inPieces([bytes(lines({ what: 'progress', turn: 7 }))]));
  await new StreamTransport(server, (message) => heard.push(message), assert.fail).send({ turn: 7 });
  assert.deepEqual(
    heard.map(({ what, word }) => word ?? what),
    ['progress', 'our_fault'],
  );
});

test('a fault of who hears a message is reported, and breaks no line', async () => {
  const reported = [];
  globalThis.reportError = (error) => reported.push(error.message);
  globalThis.fetch = /** @type {any} */ (async () => inPieces([bytes(lines({ what: 'progress' }, { what: 'answer' }))]));
  const heard = [];
  const hear = ({ what }) => {
    heard.push(what);
    throw new Error(what);
  };
  await new StreamTransport(server, hear, assert.fail).send({ turn: 8 });
  assert.deepEqual(
    [heard, reported],
    [
      ['progress', 'answer'],
      ['progress', 'answer'],
    ],
  );
});

test('a call sends its values and place in the queue, and resolves to what the server says', async () => {
  const asked = [];
  const answers = [
    [{ what: 'waiting', before: 2, ticket: 'place' }, 200],
    [{ word: 'leaving', values: {} }, 503],
    ['<html>', 502],
  ];
  globalThis.fetch = /** @type {any} */ (
    async (address, options) => {
      const [body, status] = answers[asked.length];
      asked.push([String(address), JSON.parse(options.body), options.keepalive]);
      return inPieces([bytes(typeof body === 'string' ? body : JSON.stringify(body))], status);
    }
  );
  assert.deepEqual(await server.judge({ text: 'a' }), answers[0][0]);
  assert.equal((await server.judge({ text: 'a' }, 'place')).word, 'leaving');
  assert.equal((await server.stop_training({ run: 'r' }, '', { keepalive: true })).word, 'unreachable');
  assert.match(asked[0][0], /\/call\/judge$/);
  assert.deepEqual([asked[0][1].ticket, asked[1][1].ticket, asked[2][2]], ['', 'place', true]);
  globalThis.fetch = /** @type {any} */ (async () => Promise.reject(new TypeError('Failed to fetch')));
  assert.equal((await server.judge({})).word, 'unreachable');
  assert.equal(await Promise.resolve(server), server); // a promise may resolve to it
});
