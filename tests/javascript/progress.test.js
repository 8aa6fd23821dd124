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

test('a browser that keeps nothing still counts what is done in this visit, and says that it will not last', async () => {
  const { recordGuess, setLessonStatus, lessonStatus, score, stays } = await inBrowser('refused', refused);
  assert.equal(stays(), false);
  setLessonStatus('walk', 'begun');
  setLessonStatus('walk', 'done');
  recordGuess('walk.softmax', true);
  recordGuess('walk.softmax', false);
  assert.equal(lessonStatus('walk'), 'done');
  assert.deepEqual(score(), { right: 1, all: 1 });
  assert.equal(stays(), false);
});

test('a browser that keeps it is told so', async () => {
  const kept = new Map();
  const storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) };
  const { setLessonStatus, lessonStatus, stays } = await inBrowser('kept', () => storage);
  setLessonStatus('walk', 'done');
  assert.equal(lessonStatus('walk'), 'done');
  assert.equal(stays(), true);
  assert.equal(JSON.parse(kept.get('headlight-learn')).done.walk, 'done');
});

test('a browser that is full says that it keeps no more', async () => {
  const full = { getItem: () => null, setItem: refused };
  const { setLessonStatus, lessonStatus, stays } = await inBrowser('full', () => full);
  setLessonStatus('walk', 'done');
  assert.equal(lessonStatus('walk'), 'done');
  assert.equal(stays(), false);
});
