import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

import './setup.js';

const { isWordForWord } = await import('../../viz/widgets/parts/reliability.js');

const PAIRS = [
  ['Ich trinke Tee.', 'ich trinke Tee'],
  ['Ich trinke Tee.', 'Ich trinke einen Tee.'],
  ['你好，世界！', '你好，世界。'],
  ['１２５０ Euro', '1250 euro'],
  ['…', '!'],
];

test('the page compares back-translations as Python does', () => {
  const code = `
import json, sys
from headlight.model.translate.back_translation import is_word_for_word
print(json.dumps([is_word_for_word(*pair) for pair in json.loads(sys.argv[1])]))`;
  const python = execFileSync(process.env.PYTHON ?? 'python3', ['-c', code, JSON.stringify(PAIRS)], { encoding: 'utf8' });
  assert.deepEqual(
    PAIRS.map((pair) => isWordForWord(...pair)),
    JSON.parse(python),
  );
});
