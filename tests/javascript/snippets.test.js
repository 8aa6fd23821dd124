import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { formatIframe, toPythonLiteral, formatPythonSnippet } = await import('../../viz/widgets/heads/snippets.js');

test('attributes of a frame are escaped', () => {
  const frame = formatIframe('/?embed=head#text=%22&tab="x"', '<b>Head</b>');
  assert.ok(frame.startsWith('<iframe src="/?embed=head#text=%22&amp;tab=&quot;x&quot;" title="&lt;b&gt;Head&lt;/b&gt;"'));
  assert.equal(frame.split('<').length, 3);
});

const OPTIONS = {
  beam_size: 1,
  length_penalty: 1,
  temperature: 0,
  seed: 0,
  n_best: 1,
  max_length: null,
  top_k: 0,
  top_p: 1,
  no_repeat: 0,
  back_weight: 0,
};
const call = (values, ...more) =>
  formatPythonSnippet({ model: 'de-en', text: 'Hallo.', ...values }, { kind: 'cross', layer: 0, head: 3 }, OPTIONS, ...more).split('\n')[3];

test('only options that differ from the Python defaults are written', () => {
  const page = { ...OPTIONS, beam_size: 4, no_repeat: 4, source_language: '', interventions: [] };
  assert.equal(call(page), 'result = translator.translate("Hallo.", beam_size=4, no_repeat=4)');
  assert.equal(call({ ...page, beam_size: 1, no_repeat: 0 }), 'result = translator.translate("Hallo.")');
});

test('a forced translation is written unchanged, without search options', () => {
  const page = { ...OPTIONS, beam_size: 4, back_weight: 0.3, no_repeat: 4 };
  assert.equal(call({ ...page, target: 'Hello.' }), 'result = translator.translate("Hallo.", target="Hello.")');
  assert.equal(call({ ...page, target: [693, 2] }), 'result = translator.translate("Hallo.", target=[693, 2])');
});

test('an answer reranked by another model loads that model', () => {
  const page = { ...OPTIONS, beam_size: 4, back_weight: 0.3 };
  const expected = 'result = translator.translate("Hallo.", beam_size=4, back_weight=0.3, way_back=Translator.load("en-de"))';
  assert.equal(call(page, 'en-de'), expected);
  assert.equal(call(page), 'result = translator.translate("Hallo.", beam_size=4)');
});

test('values are written as in Python', () => {
  assert.equal(toPythonLiteral([{ action: 'off', head: null, on: true }]), '[{"action": "off", "head": None, "on": True}]');
  assert.deepEqual([null, true, false, 0.5, 'a"b\n', [1, 2]].map(toPythonLiteral), [
    'None',
    'True',
    'False',
    '0.5',
    '"a\\"b\\n"',
    '[1, 2]',
  ]);
});

test('only one head or the mean of a layer is a map; options without effect are omitted', () => {
  const values = { model: 'de-en', text: 'Hallo.', beam_size: 4, target: null };
  const last = (look) => formatPythonSnippet(values, look).trim().split('\n').at(-1);
  assert.ok(formatPythonSnippet(values, { kind: 'cross', layer: 0, head: 3 }).includes('translator.translate("Hallo.", beam_size=4)\n'));
  assert.equal(last({ kind: 'cross', layer: 0, head: 3 }), 'result.attention_map("cross", 0, 3)');
  assert.equal(last({ kind: 'encoder', layer: 1, head: 'mean' }), 'result.attention_map("encoder", 1)');
  assert.ok(last({ kind: 'cross', layer: 'mean', head: 'max' }).startsWith('result.attention.of("cross")  #'));
});
