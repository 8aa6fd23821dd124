import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { on, set, state } = await import('../../viz/widgets/core/state.js');
const { isComparing, shownHead } = await import('../../viz/widgets/core/store.js');
const { parsePermalink } = await import('../../viz/widgets/core/permalink.js');
const { errorText, hasPhrase, t } = await import('../../viz/widgets/core/i18n.js');
const { languageTag } = await import('../../viz/widgets/core/language-tags.js');
const { signed, formatSigned } = await import('../../viz/widgets/core/map-view.js');

test('listeners are called only for changes of their keys', () => {
  const calls = [];
  on(['layer', 'head'], (changed) => calls.push(changed));
  set({ layer: 2, view: 'lines' });
  set({ layer: 2, view: 'matrix' });
  set({ head: 3 });
  assert.deepEqual(calls, [['layer', 'view'], ['head']]);
});

test('the hovered head is shown instead of the selected one and compared with the pinned one', () => {
  set({ layer: 1, head: 4, preview: null, pinned: { layer: 1, head: 4 } });
  assert.equal(isComparing(state), false);
  set({ preview: { layer: 0, head: 0 } });
  assert.deepEqual(shownHead(state), { layer: 0, head: 0 });
  assert.equal(isComparing(state), true);
  set({ preview: null, pinned: null });
  assert.equal(state.preview, null);
});

test('valid fields of a link are read', () => {
  const link = parsePermalink('#text=Guten%20Tag.&beam_size=3&kind=encoder&layer=mean&head=2&row=1&pinned=0.3&special=0&threshold=0.25');
  assert.deepEqual(link.request, { text: 'Guten Tag.', beam_size: 3 });
  const { kind, layer, head, row, pinned, special, threshold } = link;
  assert.deepEqual(
    { kind, layer, head, row, pinned, special, threshold },
    { kind: 'encoder', layer: 'mean', head: 2, row: 1, pinned: { layer: 0, head: 3 }, special: false, threshold: 0.25 },
  );
});

test('invalid fields of a link are ignored', () => {
  const link = parsePermalink('#kind=nonsense&layer=max&head=-1&row=x&pinned=1.2.3&special=2&threshold=7&tab=%3Cb%3E&beam_size=many');
  assert.deepEqual(link, { request: {} });
});

test('a link restores the exact ids of a prefix', () => {
  assert.deepEqual(parsePermalink('#prefix_ids=4.8.15').request, { prefix: [4, 8, 15] });
  assert.deepEqual(parsePermalink('#prefix_ids=4.x').request, {});
});

test('a phrase contains its values, and an unknown one throws', () => {
  assert.match(t('line_before', { count: 7 }), /7/);
  assert.ok(!/\{count\}/.test(t('line_before', { count: 7 })));
  assert.throws(() => t('no such phrase'), /no such phrase/);
  assert.ok(hasPhrase('error_our_fault'));
  assert.equal(errorText({ word: 'our_fault' }), t('error_our_fault'));
});

test('language codes of models become browser tags', () => {
  const tags = ['deu_Latn', 'zho_Hant', 'jap', 'kor_Hang', 'french', 'Klingonisch'].map(languageTag);
  assert.deepEqual(tags, ['de', 'zh-Hant', 'ja', 'ko', 'fr', 'Klingonisch']);
});

test('a minus sign is as wide as a plus sign', () => {
  assert.equal(signed(-0.5, 2), '−0.50');
  assert.equal(signed(0.5, 2), '+0.50');
  assert.equal(formatSigned(-1, 0), '−1');
  assert.equal(formatSigned(-0.0004, 3), '0.000'); // zero has no sign
});
