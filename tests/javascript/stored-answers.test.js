// Answers of a static page that are stored in files, against the calls of the server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { python } from './engine-setup.js';

const { storedEntry } = await import('../../viz/widgets/core/stored-answers.js');

const { parts, verdicts, expected } = python(`
import json
from headlight.viz.lessons.build import read_build, run_build_line
from headlight.viz.static_site.lesson_content import build_verdicts
parts = read_build({})["parts"]
lines = [{"part": part["name"], "text": text} for part in parts for text in part["candidates"]]
lines += [{"part": "cross", "sides": {"q": q, "k": k, "v": v}} for q in "ym" for k in "ym" for v in "ym"]
print(json.dumps({"parts": parts, "verdicts": build_verdicts(run_build_line), "expected": [[line, run_build_line(line)] for line in lines]}))`);

test('every line that can be chosen has the verdict of the server', () => {
  assert.equal(expected.length, Object.keys(verdicts).length);
  for (const [line, verdict] of expected) assert.deepEqual(storedEntry('run_build_line', line, verdicts), verdict);
  const chosen = expected.filter(([line]) => storedEntry('run_build_line', line, verdicts).passes);
  assert.ok(chosen.length >= parts.length);
});

test('the line that the page fills in passes', () => {
  for (const { name, right } of parts.filter(({ candidates }) => candidates.length))
    assert.equal(storedEntry('run_build_line', { part: name, text: right }, verdicts).passes, true, name);
});

test('files of other calls hold one answer', () => {
  const cards = [{ name: 'de-en' }];
  assert.equal(storedEntry('model_cards', {}, cards), cards);
});
