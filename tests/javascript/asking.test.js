import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { Direct, told } = await import('../../viz/widgets/translate/asking.js');

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

globalThis.window = /** @type {any} */ ({
  gradio_config: {
    root: 'http://here',
    components: [
      { id: 4, props: {} },
      { id: 9, props: { elem_id: 'widget-translate' } },
    ],
  },
});

test('messages are heard whole, however they are cut on the way', async () => {
  const messages = [
    { what: 'progress', text: '猫 «Ä»' },
    { what: 'answer', text: 'a\nb' },
  ];
  const whole = bytes(lines(...messages));
  for (let cut = 1; cut < whole.length; cut++) {
    const heard = [];
    await told(inPieces([whole.slice(0, cut), whole.slice(cut)]), (message) => heard.push(message));
    assert.deepEqual(heard, messages, `${cut}`);
  }
});

test('a request names its widget, and a newer one lets go of it', async () => {
  const asked = [];
  globalThis.fetch = /** @type {any} */ (
    async (address, options) => {
      asked.push({ address, ...options, body: JSON.parse(options.body) });
      return inPieces([bytes(lines({ what: 'answer', turn: asked.length }))]);
    }
  );
  const heard = [];
  const way = new Direct((message) => heard.push(message.turn), assert.fail);
  const first = way.send({ turn: 1, text: 'Guten Tag.' });
  const second = way.send({ turn: 2, text: 'Guten Tag!' });
  await Promise.all([first, second]);
  assert.equal(asked[0].address, 'http://here/gradio_api/component_server/');
  assert.deepEqual([asked[0].body.component_id, asked[0].body.fn_name], [9, 'ask']);
  assert.deepEqual(JSON.parse(asked[0].body.data), { turn: 1, text: 'Guten Tag.' });
  assert.equal(asked[0].body.session_hash, asked[1].body.session_hash);
  assert.deepEqual([asked[0].signal.aborted, asked[1].signal.aborted], [true, false]);
});

test('a line that breaks is told with its number; one that was let go is not', async () => {
  const lost = [];
  const way = new Direct(assert.fail, (turn) => lost.push(turn));
  globalThis.fetch = /** @type {any} */ (
    async () => {
      throw new TypeError('Failed to fetch');
    }
  );
  await way.send({ turn: 3 });
  assert.deepEqual(lost, [3]);
  const going = way.send({ turn: 4 });
  way.stop();
  await going;
  assert.deepEqual(lost, [3]);
});

test('what the server refuses is said as an error of the request', async () => {
  const heard = [];
  globalThis.fetch = /** @type {any} */ (
    async () => inPieces([bytes(JSON.stringify({ word: 'leaving', field: 'data', values: {} }))], 503)
  );
  await new Direct((message) => heard.push(message), assert.fail).send({ turn: 5 });
  assert.deepEqual(heard, [{ what: 'error', word: 'leaving', field: 'text', values: {}, turn: 5 }]);
});
