import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { on, set, state } = await import('../../viz/widgets/core/state.js');
const { isComparing, shownHead } = await import('../../viz/widgets/core/store.js');
const { parsePermalink } = await import('../../viz/widgets/core/permalink.js');
const { errorText, hasPhrase, t } = await import('../../viz/widgets/core/i18n.js');
const { languageTag } = await import('../../viz/widgets/core/language-tags.js');
const { signed, formatSigned } = await import('../../viz/widgets/core/map-view.js');

test('only those hear of a change who care about it, and only of a change', () => {
  const heard = [];
  on(['layer', 'head'], (changed) => heard.push(changed));
  set({ layer: 2, view: 'lines' });
  set({ layer: 2, view: 'matrix' });
  set({ head: 3 });
  assert.deepEqual(heard, [['layer', 'view'], ['head']]);
});

test('the head pointed at is shown before the chosen one, and compared with the pinned one', () => {
  set({ layer: 1, head: 4, preview: null, pinned: { layer: 1, head: 4 } });
  assert.equal(isComparing(state), false);
  set({ preview: { layer: 0, head: 0 } });
  assert.deepEqual(shownHead(state), { layer: 0, head: 0 });
  assert.equal(isComparing(state), true);
  set({ preview: null, pinned: null });
  assert.equal(state.preview, null);
});

test('a link is read as far as it makes sense', () => {
  const wanted = parsePermalink('#text=Guten%20Tag.&beam_size=3&kind=encoder&layer=mean&head=2&row=1&pinned=0.3&special=0&threshold=0.25');
  assert.deepEqual(wanted.request, { text: 'Guten Tag.', beam_size: 3 });
  const { kind, layer, head, row, pinned, special, threshold } = wanted;
  assert.deepEqual(
    { kind, layer, head, row, pinned, special, threshold },
    { kind: 'encoder', layer: 'mean', head: 2, row: 1, pinned: { layer: 0, head: 3 }, special: false, threshold: 0.25 },
  );
});

test('what makes no sense in a link is let go', () => {
  const wanted = parsePermalink('#kind=nonsense&layer=max&head=-1&row=x&pinned=1.2.3&special=2&threshold=7&tab=%3Cb%3E&beam_size=many');
  assert.deepEqual(wanted, { request: {} });
});

test('a link brings the very ids of a beginning', () => {
  assert.deepEqual(parsePermalink('#prefix_ids=4.8.15').request, { prefix: [4, 8, 15] });
  assert.deepEqual(parsePermalink('#prefix_ids=4.x').request, {});
});

test('a phrase gets its values, and one that is not there is an error', () => {
  assert.match(t('line_before', { count: 7 }), /7/);
  assert.ok(!/\{count\}/.test(t('line_before', { count: 7 })));
  assert.throws(() => t('no such phrase'), /no such phrase/);
  assert.ok(hasPhrase('error_our_fault'));
  assert.equal(errorText({ word: 'our_fault' }), t('error_our_fault'));
});

test('models call languages in many ways, browsers in one', () => {
  const tags = ['deu_Latn', 'zho_Hant', 'jap', 'kor_Hang', 'french', 'Klingonisch'].map(languageTag);
  assert.deepEqual(tags, ['de', 'zh-Hant', 'ja', 'ko', 'fr', 'Klingonisch']);
});

test('a minus is as long as a plus', () => {
  assert.equal(signed(-0.5, 2), '−0.50');
  assert.equal(signed(0.5, 2), '+0.50');
  assert.equal(formatSigned(-1, 0), '−1');
  assert.equal(formatSigned(-0.0004, 3), '0.000'); // zero has no sign
});
