import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import './setup.js';

const script = 'import json; from headlight.viz.tabs.learn import read_lessons; print(json.dumps(read_lessons({})))';
const LESSONS = JSON.parse(execFileSync(process.env.PYTHON ?? 'python3', ['-c', script], { encoding: 'utf8' }));
globalThis.headlightTables.words.en = JSON.parse(readFileSync(new URL('../../assets/words/en.json', import.meta.url), 'utf8'));
const { PLANS, availablePlans, planViews } = await import('../../viz/widgets/lessons/plans.js');
const { validate } = await import('../../viz/widgets/deck/saved-views.js');

const DOCUMENT = readFileSync(new URL('../../docs/lessons.md', import.meta.url), 'utf8');
const ROWS = [...DOCUMENT.matchAll(/^\| `([a-z]+\.[a-z]+)` \| (\d*) ?\| (\d+) \|/gm)].map(([, step, short, long]) => [step, short, long]);

test('each plan takes its minutes, and its steps exist', () => {
  for (const [minutes, slides] of Object.entries(PLANS)) {
    const total = slides.reduce((sum, [, each]) => sum + each, 0);
    assert.equal(total, Number(minutes));
    const views = planViews(LESSONS, minutes);
    assert.deepEqual(validate(views), views); // a deck accepts them
  }
});

test('a plan is offered only if the page has all its steps', () => {
  const without = (...names) => LESSONS.filter(({ name }) => !names.includes(name));
  assert.deepEqual(availablePlans(LESSONS), ['45', '90']);
  assert.deepEqual(availablePlans(without('train')), ['45']);
  assert.deepEqual(availablePlans(without('walk')), []);
  const shorter = LESSONS.map((lesson) => (lesson.name === 'heads' ? { ...lesson, steps: lesson.steps.slice(0, 1) } : lesson));
  assert.deepEqual(availablePlans(shorter), ['45']);
});

test('the document lists the plans', () => {
  const listed = (column) => ROWS.filter((row) => row[column]).map((row) => [row[0], Number(row[column])]);
  assert.deepEqual(listed(1), PLANS[45]);
  assert.deepEqual(listed(2), PLANS[90]);
});
