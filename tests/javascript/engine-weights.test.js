// Stored weights as the engine reads them: every bit is that of Python.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { python } from './engine-setup.js';

const { Weights, WeightsError } = await import('../../viz/widgets/engine/weights.js');

// Writes matrices in each storage, and reads them again. One folder has all 256 bytes with unusual scales.
const WRITE = `
import base64, json, sys
from pathlib import Path
import torch
from safetensors.torch import save_file
from headlight.model.checkpoints.storage import TensorStore, write_weights
parent, storages = Path(json.loads(sys.argv[1])), json.loads(sys.argv[2])
torch.manual_seed(5)
spread = torch.logspace(-5, 3, 37).unsqueeze(1)
tensors = {
    "wide.weight": torch.randn(37, 96) * spread, "wide.bias": torch.randn(37),
    "odd.weight": torch.randn(5, 33), "decoder.embedding.table.weight": torch.randn(23, 64),
}
for name, (storage, limit) in storages.items():
    (parent / name).mkdir()
    write_weights(parent / name, tensors, storage, limit)
(parent / "bytes").mkdir()
packed = torch.arange(256, dtype=torch.int16).to(torch.uint8).reshape(4, 64)
scales = torch.tensor([[1.0, 0.1, 6e-8, 65504.0], [5e-5, -0.3, 0.0, 7e-6]] * 2, dtype=torch.float16)
save_file({"wide.weight": packed, "wide.weight.scale": scales}, parent / "bytes" / "model.safetensors")
def read(folder):
    store = TensorStore(folder)
    names = [name for name in tensors if name in store]
    return {name: base64.b64encode(store.read(name).numpy().tobytes()).decode() for name in names}
print(json.dumps({folder.name: read(folder) for folder in parent.iterdir()}))`;

const STORAGES = {
  float32: ['float32', 1e9],
  float16: ['float16', 1e9],
  int8: ['int8', 1e9],
  'int8 in shards': ['int8', 1000],
  int4: ['int4', 1e9],
  'int4 in shards': ['int4', 1000],
  'int4 with scales in parts': ['int4', 400],
};
const parent = mkdtempSync(join(tmpdir(), 'headlight-weights-'));
after(() => rmSync(parent, { recursive: true }));
const EXPECTED = python(WRITE, parent, STORAGES);

function readFiles(folder) {
  const names = readdirSync(join(parent, folder)).filter((name) => name.endsWith('.safetensors'));
  return names.map((name) => {
    const { buffer, byteOffset, byteLength } = readFileSync(join(parent, folder, name));
    return { name, data: buffer.slice(byteOffset, byteOffset + byteLength) };
  });
}

const bits = (numbers) => Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength).toString('base64');

for (const folder of [...Object.keys(STORAGES), 'bytes']) {
  test(`${folder}: every bit is that of Python`, () => {
    const weights = new Weights(readFiles(folder), 0);
    for (const [name, expected] of Object.entries(EXPECTED[folder])) {
      if (name.endsWith('.bias')) continue;
      const { weights: numbers, outputs, inputs, stride } = weights.matrix(name.replace('.weight', ''));
      assert.equal(bits(numbers.subarray(0, outputs * inputs)), expected, name);
      assert.ok(numbers.subarray(outputs * inputs, stride * inputs).every((number) => number === 0));
    }
    if (folder !== 'bytes') assert.equal(bits(/** @type {any} */ (weights.vectors.get('wide.bias'))), EXPECTED[folder]['wide.bias']);
  });
}

test('the folders have the storages that their names say', () => {
  const dtypes = (folder) => Object.fromEntries([...new Weights(readFiles(folder), 0).stored].map(([name, { dtype }]) => [name, dtype]));
  assert.deepEqual(dtypes('int4'), {
    'wide.weight': 'U8',
    'wide.weight.scale': 'F16',
    'wide.bias': 'F32',
    'odd.weight': 'I8',
    'odd.weight.scale': 'F32',
    'decoder.embedding.table.weight': 'I8',
    'decoder.embedding.table.weight.scale': 'F32',
  });
  assert.equal(dtypes('int4 in shards')['wide.weight.rows.1'], 'U8');
  assert.equal(dtypes('int4 with scales in parts')['wide.weight.scale.rows.1'], 'F16');
  const numbers = new Set(new Weights(readFiles('bytes'), 0).matrix('wide').weights.subarray(0, 32));
  assert.equal(numbers.size, 16);
});

test('a matrix with a missing or a wrong scale is not read', () => {
  const damaged = (change) => {
    const weights = new Weights(readFiles('int4'), 0);
    change(weights.stored, weights.stored.get('wide.weight.scale'));
    return () => weights.matrix('wide');
  };
  const error = (caught) => caught instanceof WeightsError && caught.message === 'wide.weight.scale';
  assert.throws(
    damaged((stored) => stored.delete('wide.weight.scale')),
    error,
  );
  for (const shape of [[37], [37, 2], [36, 3]])
    assert.throws(
      damaged((stored, scale) => stored.set('wide.weight.scale', { ...scale, shape })),
      error,
      `${shape}`,
    );
});
