import assert from 'node:assert/strict';
import { test } from 'node:test';

/** The module in a browser with this storage: its value, or what reading it throws. */
async function inBrowser(name, storage) {
  Object.defineProperty(globalThis, 'localStorage', { configurable: true, get: storage });
  return import(`../../viz/widgets/lessons/progress.js?${name}`);
}

const refused = () => {
  throw new DOMException('Access is denied for this document.', 'SecurityError');
};

test('without localStorage, progress lasts for the visit', async () => {
  const { recordGuess, setLessonStatus, lessonStatus, score, isPersistent } = await inBrowser('refused', refused);
  assert.equal(isPersistent(), false);
  setLessonStatus('walk', 'begun');
  setLessonStatus('walk', 'done');
  recordGuess('walk.softmax', true);
  recordGuess('walk.softmax', false);
  assert.equal(lessonStatus({ name: 'walk', steps: [] }), 'done');
  assert.deepEqual(score(), { right: 1, all: 1 });
  assert.equal(isPersistent(), false);
});

test('with localStorage, progress is persistent', async () => {
  const stored = new Map();
  const storage = { getItem: (key) => stored.get(key) ?? null, setItem: (key, value) => stored.set(key, value) };
  const { setLessonStatus, lessonStatus, isPersistent } = await inBrowser('stored', () => storage);
  setLessonStatus('walk', 'done');
  assert.equal(lessonStatus({ name: 'walk', steps: [] }), 'done');
  assert.equal(isPersistent(), true);
  assert.equal(JSON.parse(stored.get('headlight-learn')).done.walk, 'done');
});

test('with a full localStorage, progress is not persistent', async () => {
  const full = { getItem: () => null, setItem: refused };
  const { setLessonStatus, lessonStatus, isPersistent } = await inBrowser('full', () => full);
  setLessonStatus('walk', 'done');
  assert.equal(lessonStatus({ name: 'walk', steps: [] }), 'done');
  assert.equal(isPersistent(), false);
});
