import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

// Elements are only created and stored.
globalThis.document = /** @type {any} */ ({ createElement: () => ({ setAttribute() {}, append() {} }) });

const { desk, formMounted, setForm } = await import('../../viz/widgets/parts/desk.js');

test('views that need the translate form wait until it is mounted, in any mount order', async () => {
  let mounted = false;
  formMounted.then(() => {
    mounted = true;
  });
  await Promise.resolve();
  assert.equal(mounted, false);
  assert.equal(desk().root, null);
  const root = /** @type {any} */ ({});
  setForm({ root });
  await Promise.resolve();
  assert.equal(mounted, true);
  assert.equal(desk().root, root);
});
