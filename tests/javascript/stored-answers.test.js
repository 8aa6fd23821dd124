// Answers of a static page that are stored in files, against the calls of the server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { python } from './engine-setup.js';

const { findStoredAnswer, findStoredUrl } = await import('../../viz/widgets/core/stored-answers.js');

const { resolveValues } = await import('../../viz/widgets/lessons/control-values.js');

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
  for (const [line, verdict] of expected) assert.deepEqual(findStoredAnswer('run_build_line', line, verdicts, {}), verdict);
  const chosen = expected.filter(([line]) => findStoredAnswer('run_build_line', line, verdicts, {}).passes);
  assert.ok(chosen.length >= parts.length);
});

test('the line that the page fills in passes', () => {
  for (const { name, right } of parts.filter(({ candidates }) => candidates.length))
    assert.equal(findStoredAnswer('run_build_line', { part: name, text: right }, verdicts, {}).passes, true, name);
});

test('files of other calls hold one answer', () => {
  const cards = [{ name: 'de-en' }];
  assert.equal(findStoredAnswer('model_cards', {}, cards, {}), cards);
});

test('every setting of an experiment has the result of the server, with the values of the model in use', () => {
  const { stored, lessons, server } = python(`
import json
from headlight.viz.lessons.experiment_server import make_experiment_call
from headlight.viz.service.service import Service
from headlight.viz.settings import read_settings
from headlight.viz.static_site.lesson_content import combinations, experiment_results, static_lessons
from headlight.viz.static_site.page_content import PANELS
from headlight.viz.tabs.learn import read_lessons
run, request = make_experiment_call(Service(read_settings())), {"text": "der hund bellt", "model": "toy"}
lessons = static_lessons(read_lessons({}), PANELS)
asked = [
    {"lesson": lesson["name"], "step": step["name"], "set": chosen, "request": request}
    for lesson in lessons
    for step in lesson["steps"]
    if step["experiment"]
    for chosen in list(combinations(step["experiment"]["controls"]))[::7]
]
print(json.dumps({"stored": experiment_results(lessons, run, {"toy": request}), "lessons": lessons, "server": [[values, run(values)] for values in asked]}))`);
  const models = { toy: { lesson_model: server[0][1].model } };
  for (const [values, expected] of server) {
    const entry = findStoredAnswer('run_experiment', values, findStoredUrl(stored, values), models);
    const isOnSentence = `${values.lesson}.${values.step}.toy` in stored;
    assert.deepEqual(entry, isOnSentence ? { ...expected, sentence: 'der hund bellt' } : expected);
  }
  for (const { name, steps } of lessons) {
    for (const step of steps.filter(({ experiment }) => experiment)) {
      const values = { lesson: name, step: step.name, set: resolveValues(step.experiment.controls, {}), request: { model: 'toy' } };
      assert.ok(findStoredAnswer('run_experiment', values, findStoredUrl(stored, values), models).figures.length, `${name}.${step.name}`); // the first setting
    }
  }
});

test('a link to a value that the page lacks gives the default', () => {
  const length = { form: 'slider', name: 'length', low: 4, high: 64, step: 4, start: 24 };
  assert.deepEqual(resolveValues([length], { length: '32' }), { length: 32 });
  for (const text of ['33', '68', '0', 'x']) assert.deepEqual(resolveValues([length], { length: text }), { length: 24 });
});
