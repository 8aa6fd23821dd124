// The engine of a static page in Node: its tables, and the models of `assets/models`. Import this before the engine.

import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The JSON that a Python program prints. */
export const python = (code, ...values) =>
  JSON.parse(
    execFileSync(process.env.PYTHON ?? 'python3', ['-c', code, ...values.map((value) => JSON.stringify(value))], {
      encoding: 'utf8',
      maxBuffer: 1 << 29,
    }),
  );

globalThis.headlightTables = python(
  'import json; from headlight.viz.static_site.engine_tables import engine_tables; print(json.dumps(engine_tables()))',
);

const { Transformer } = await import('../../viz/widgets/engine/transformer.js');
const { Tokenizer } = await import('../../viz/widgets/engine/tokenizer.js');

const folder = (name) => (isAbsolute(name) ? pathToFileURL(`${name}/`) : new URL(`../../assets/models/${name}/`, import.meta.url));
const readJson = (name, file) => JSON.parse(readFileSync(new URL(file, folder(name)), 'utf8'));

/** A vocabulary of a model: `side` is "source" or "target". */
export function readTokenizer(name, side) {
  const files = readdirSync(folder(name));
  return new Tokenizer(readJson(name, files.includes('tokenizer.json') ? 'tokenizer.json' : `${side}_tokenizer.json`));
}

/** The weight files of a model. */
export function readFiles(name) {
  const files = readdirSync(folder(name)).filter((file) => file.endsWith('.safetensors'));
  return files.map((file) => {
    const { buffer, byteOffset, byteLength } = readFileSync(new URL(file, folder(name)));
    return { name: file, data: buffer.slice(byteOffset, byteOffset + byteLength) };
  });
}

/** A model as the engine has it. `name`: of `assets/models`, or the path of a folder. */
export function readModel(name) {
  const { config } = readJson(name, 'config.json');
  const [source, target] = name === 'toy' || isAbsolute(name) ? ['', ''] : name.split('-');
  return {
    name,
    config,
    transformer: new Transformer(config, readFiles(name)),
    sourceTokenizer: readTokenizer(name, 'source'),
    targetTokenizer: readTokenizer(name, 'target'),
    languages: { source, target },
  };
}

export const LIMITS = { characters: 2000, tokens: 256 };
export const OPTIONS = {
  beam_size: 1,
  length_penalty: 1,
  n_best: 1,
  max_length: null,
  temperature: 0,
  top_k: 0,
  top_p: 1,
  seed: 0,
  no_repeat: 0,
  alternatives: 5,
  back_weight: 0,
};
export const requestFor = (text, more = {}) => ({
  text,
  target: null,
  prefix: null,
  interventions: [],
  ...more,
  options: { ...OPTIONS, ...more.options },
});
