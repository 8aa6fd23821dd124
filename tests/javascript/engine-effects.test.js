// Effects and accounts of the engine in the browser against Python's, on small random models of every shape that it supports.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { python } from './engine-setup.js';

const { accountByHead, accountByKey, accountWord, fixedRun } = await import('../../viz/widgets/engine/account.js');
const { KINDS, effectMaps, scoreWithout, sentenceEffects, wordEffects } = await import('../../viz/widgets/engine/effects.js');
const { modelChanges } = await import('../../viz/widgets/engine/interventions.js');
const { Kernels } = await import('../../viz/widgets/engine/kernels.js');
const { Transformer } = await import('../../viz/widgets/engine/transformer.js');

const SMALL = { d_model: 24, heads: 4, head_width: null, d_ff: 36, final_logits_bias: false };
const SHAPES = {
  'norms before the sub-layers': { norm_first: true, final_norm: true, tie_output: true },
  'norms after the sums': { norm_first: false, tie_output: false },
  'no biases, three heads, no scale of the scores': {
    norm_first: true,
    attention_bias: false,
    feed_forward_bias: false,
    heads: 3,
    scale_scores: false,
  },
  'norms after the sums and at the end': {
    norm_first: false,
    final_norm: true,
    encoder_layers: 3,
    decoder_layers: 1,
    scale_embedding: false,
  },
};
const PLACE = 4;
const TEXT = 'Der Hund schläft im Garten.';
const TARGET = [5, 17, 30, 8, 99, 41, 2];
const HEAD = { kind: 'cross', layer: 0, head: 1 };
const CHANGES = [
  [],
  [
    { ...HEAD, action: 'remove' },
    { kind: 'encoder', layer: 1, head: null, action: 'scale', amount: 0.5 },
  ],
  [
    { ...HEAD, action: 'temperature', amount: 3 },
    { kind: 'encoder', layer: 1, head: 0, action: 'uniform' },
  ],
  [
    { ...HEAD, action: 'same' },
    { kind: 'encoder', layer: 0, head: 2, action: 'next' },
  ],
  [
    { kind: 'encoder', layer: 1, head: 1, row: 2, column: 1, amount: 0.25, action: 'drag' },
    { kind: 'cross', layer: 0, head: 2, row: 3, column: 2, amount: 0.9, action: 'drag' },
    { kind: 'decoder', layer: 0, head: 0, row: 4, column: 1, amount: 0.5, action: 'drag' },
    { kind: 'decoder', layer: 0, head: 1, row: 1, column: 0, amount: 0.5, action: 'drag' },
  ],
  [
    { kind: 'encoder', layer: 1, head: 0, from_layer: 0, from_head: 2, action: 'copy' },
    { kind: 'encoder', layer: 1, head: 1, from_layer: 1, from_head: 2, action: 'copy' },
    { kind: 'encoder', layer: 1, head: 1, row: 3, column: 1, amount: 0.1, action: 'drag' },
    { kind: 'cross', layer: 0, head: 0, from_layer: 0, from_head: 2, action: 'copy' },
  ],
  [
    { side: 'encoder', layer: 1, part: 'feed_forward', action: 'zero' },
    { side: 'decoder', layer: 0, part: 'residual', action: 'zero' },
  ],
  [
    { start: 4, end: 8, action: 'mask' },
    { side: 'encoder', action: 'shift', amount: 3 },
  ],
];

const EXPECTED = `
import json, sys
from pathlib import Path
import torch
from headlight.model.checkpoints.storage import write_weights
from headlight.model.checkpoints.checkpoint import unique_tensors
from headlight.model.experiments import account, effects
from headlight.model.experiments.importance import AttentionPart
from headlight.model.records import KINDS
from tests.tiny import tiny_translator

folder, shapes, text, target, changes, place = (json.loads(value) for value in sys.argv[1:])
torch.set_num_threads(1)
numbers = lambda cells: {kind: [layer.ravel().tolist() for layer in cells[kind]] for kind in KINDS}

def measure(translator, interventions):
    answer = translator.translate(text, target=target, interventions=interventions)
    rival = answer.target_tokens[place].id - 1
    word, lead = (effects.word_effects(translator, answer, [place], other)[0] for other in (None, rival))
    parts = [AttentionPart("encoder", 0, 1), AttentionPart("cross", 0, 2), AttentionPart("decoder", 0)]
    sums = account.word_account(translator, answer, place, rival)
    return {
        "source": [token.id for token in answer.source_tokens],
        "target": [token.id for token in answer.target_tokens],
        "hidden": list(answer.attention.masked_source),
        "word": numbers({kind: word.cells[kind][:, :, : place + 1, : place + 1 if kind == "decoder" else None] if kind != "encoder" else word.cells[kind] for kind in KINDS}),
        "word_score": word.score, "lead_score": lead.score,
        "lead": numbers({kind: lead.cells[kind][:, :, : place + 1, : place + 1 if kind == "decoder" else None] if kind != "encoder" else lead.cells[kind] for kind in KINDS}),
        "sentence": numbers(effects.compute_sentence_effects(translator, answer)),
        "maps": {name: numbers({kind: effects.make_effect_maps(translator, answer, kind, other) for kind in KINDS}) for name, other in (("word", None), ("lead", effects.LIKELIEST))},
        "measured": effects.measured_effects(translator, answer, place, [(part,) for part in parts]),
        "account": {"lead": sums.lead, "source": sums.source, "prefix": sums.prefix, "constants": sums.constants},
        "heads": account.account_by_head(translator, answer, place, rival).tolist(),
        "keys": account.account_by_key(translator, answer, place, rival, 0, 2).tolist(),
    }

results = {}
for index, (name, fields) in enumerate(shapes.items()):
    translator = tiny_translator(seed=index, **fields)
    path = Path(folder) / str(index)
    path.mkdir()
    write_weights(path, {name: tensor for name, (tensor, _) in unique_tensors(translator.model).items()}, "float32", 10**9)
    results[name] = {"config": json.loads(translator.model.config.to_json()), "answers": [measure(translator, some) for some in changes]}
print(json.dumps(results))`;

const folder = mkdtempSync(join(tmpdir(), 'headlight-effects-'));
after(() => rmSync(folder, { recursive: true }));
const shapes = Object.fromEntries(Object.entries(SHAPES).map(([name, fields]) => [name, { ...SMALL, ...fields }]));
const EXPECTED_MODELS = python(EXPECTED, folder, shapes, TEXT, TARGET, CHANGES, PLACE);

/** Compares numbers, relative to the largest one if that is above 1. */
function close(own, expected, what) {
  const [numbers, others] = [own, expected].map((list) => list.flat(Infinity));
  assert.equal(numbers.length, others.length, what);
  const largest = others.reduce((most, number) => Math.max(most, Math.abs(number)), 1);
  const worst = others.reduce((most, number, index) => Math.max(most, Math.abs(numbers[index] - number)), 0);
  assert.ok(worst < 1e-4 * largest, `${what}: ${worst} of ${largest}`);
}
const closeCells = (own, expected, what) => {
  for (const kind of KINDS)
    close(
      own[kind].map((layer) => [...layer]),
      expected[kind],
      `${what}, ${kind}`,
    );
};

/** A translation as the engine keeps it, with what the pass back reads. */
const newTranslation = ({ source, target, hidden }) => ({
  source: source.map((id) => ({ id })),
  target: target.map((id) => ({ id })),
  hidden,
});

async function compareAnswer(model, interventions, expected, what) {
  const translation = newTranslation(expected);
  const changes = () => modelChanges(model.config, interventions);
  const [position, rival] = [PLACE, expected.target[PLACE] - 1];
  for (const [name, other] of [
    ['word', null],
    ['lead', rival],
  ]) {
    const effects = await wordEffects(model, translation, changes(), { position, rival: other });
    close([effects.score], [expected[`${name}_score`]], `${what}: score`);
    closeCells(effects.cells, expected[name], `${what}: ${name}`);
  }
  closeCells(await sentenceEffects(model, translation, changes(), null), expected.sentence, `${what}: sentence`);
  for (const [name, other] of [
    ['word', null],
    ['lead', 'likeliest'],
  ]) {
    const maps = {};
    for (const kind of KINDS) maps[kind] = await effectMaps(model, translation, changes(), { kind, rival: other });
    closeCells(maps, expected.maps[name], `${what}: maps of ${name}`);
  }
  const parts = [
    { kind: 'encoder', layer: 0, head: 1 },
    { kind: 'cross', layer: 0, head: 2 },
    { kind: 'decoder', layer: 0, head: null },
  ];
  const score = (removed) => scoreWithout(model, translation, changes(), { position, rival: null }, removed);
  const all = score([]);
  close(
    parts.map((part) => all - score([part])),
    expected.measured,
    `${what}: measured`,
  );
  const run = await fixedRun(model, translation, changes(), { position, rival });
  const account = await accountWord(run);
  for (const [name, numbers] of Object.entries(expected.account)) close([account[name]], [numbers], `${what}: account, ${name}`);
  close(await accountByHead(run), expected.heads, `${what}: account by head`);
  close(await accountByKey(run, 0, 2), expected.keys, `${what}: account by key`);
}

for (const [index, [name, { config, answers }]] of Object.entries(EXPECTED_MODELS).entries()) {
  test(`effects and accounts: ${name}`, async () => {
    const { buffer, byteOffset, byteLength } = readFileSync(join(folder, String(index), 'model.safetensors'));
    const data = buffer.slice(byteOffset, byteOffset + byteLength);
    const model = { config, transformer: new Transformer(config, [{ name, data }]) };
    for (const [number, interventions] of CHANGES.entries())
      await compareAnswer(model, interventions, answers[number], `changes ${number}`);
  });
}

test('a product with the transposed matrix is that of plain loops', () => {
  const kernels = new Kernels(1000);
  const [rows, outputs, inputs] = [3, 8, 12];
  const [x, weights, y] = [rows * outputs, outputs * inputs, rows * inputs].map((length) => kernels.allocate(length));
  x.forEach((_, at) => {
    x[at] = Math.sin(at);
  });
  weights.forEach((_, at) => {
    weights[at] = Math.cos(3 * at);
  });
  y.fill(7);
  kernels.multiplyTransposed(x, rows, { weights, outputs, stride: outputs, inputs, bias: null }, y);
  for (let row = 0; row < rows; row++) {
    for (let input = 0; input < inputs; input++) {
      let sum = 0;
      for (let output = 0; output < outputs; output++) sum += x[row * outputs + output] * weights[output * inputs + input];
      assert.ok(Math.abs(y[row * inputs + input] - sum) < 1e-5);
    }
  }
});

test('a pass back stops between two layers', async () => {
  const [{ config, answers }] = Object.values(EXPECTED_MODELS);
  const { buffer, byteOffset, byteLength } = readFileSync(join(folder, '0', 'model.safetensors'));
  const model = { config, transformer: new Transformer(config, [{ name: '', data: buffer.slice(byteOffset, byteOffset + byteLength) }]) };
  let pauses = 0;
  const control = { isStopped: () => pauses === 2, pause: async () => pauses++ };
  const effects = await wordEffects(model, newTranslation(answers[0]), modelChanges(config, []), { position: PLACE, rival: null }, control);
  assert.equal(effects, null);
  assert.equal(pauses, 2);
});
