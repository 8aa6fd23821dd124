import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { frameOf, literal, pythonOf } = await import('../../viz/widgets/heads/snippets.js');

test('a frame holds no sign that ends its own attributes', () => {
  const frame = frameOf('/?embed=head#text=%22&tab="x"', '<b>Head</b>');
  assert.ok(frame.startsWith('<iframe src="/?embed=head#text=%22&amp;tab=&quot;x&quot;" title="&lt;b&gt;Head&lt;/b&gt;"'));
  assert.equal(frame.split('<').length, 3);
});

test('values are written as Python writes them', () => {
  assert.deepEqual([null, true, false, 0.5, 'a"b\n', [1, 2]].map(literal), ['None', 'True', 'False', '0.5', '"a\\"b\\n"', '[1, 2]']);
});

test('only one head or the average of a layer is a map; options that say nothing are left out', () => {
  const asked = { model: 'de-en', text: 'Hallo.', beam_size: 4, target: null };
  const last = (look) => pythonOf(asked, look).trim().split('\n').at(-1);
  assert.ok(pythonOf(asked, { kind: 'cross', layer: 0, head: 3 }).includes('translator.translate("Hallo.", beam_size=4)\n'));
  assert.equal(last({ kind: 'cross', layer: 0, head: 3 }), 'result.attention_map("cross", 0, 3)');
  assert.equal(last({ kind: 'encoder', layer: 1, head: 'mean' }), 'result.attention_map("encoder", 1)');
  assert.ok(last({ kind: 'cross', layer: 'mean', head: 'max' }).startsWith('result.attention.of("cross")  #'));
});
