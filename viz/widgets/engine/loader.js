// Loads the files of models, with progress, and checks them.

import { decompress } from '../core/decompress.js';
import { Fault } from './fault.js';
import { Tokenizer } from './tokenizer.js';
import { Transformer } from './transformer.js';

const MAX_MODELS = 2; // in memory; each takes 40 to 60 MB

/**
 * @typedef {{ url: string, bytes: number, sha256: string }} SiteFile `bytes`: as sent; `sha256`: of the content
 * @typedef {{ name: string, config: any, weights: SiteFile[], source_tokenizer: SiteFile, target_tokenizer: SiteFile,
 *   languages: { source: string, target: string }, answer_model: any, lesson_model: any,
 *   cross_heads: import('./opening.js').CrossHeads, rule: import('./reliability.js').FittedRule | null, reverse: string }} SiteModel
 *   `rule`: of reliability, if one was fitted; `reverse`: name of the model that reads back, or empty
 */

const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Reads the body of a response, and calls `onBytes(count)` for each part. */
async function readBody(response, onBytes) {
  if (!response.body) return response.arrayBuffer();
  const parts = [];
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return await new Blob(parts).arrayBuffer();
    parts.push(value);
    onBytes(value.length);
  }
}

export class ModelLoader {
  /**
   * @param {{ models: Record<string, SiteModel>, base: string }} site
   * @param {(progress: { name: string, done: number, total: number }) => void} onProgress
   */
  constructor({ models, base }, onProgress) {
    this.models = models;
    this.base = base;
    this.onProgress = onProgress;
    /** @type {Map<string, Promise<import('./translator.js').Model>>} the latest is last */
    this.loaded = new Map();
  }

  /** The model of this name. It is loaded once; a failed download is tried again by the next request. */
  load(name) {
    if (!(name in this.models)) throw new Fault('model', 'unknown_model', { given: name, choices: Object.keys(this.models).join(', ') });
    const model = this.loaded.get(name) ?? this.start(name);
    this.loaded.delete(name);
    this.loaded.set(name, model);
    const [oldest] = this.loaded.keys();
    if (this.loaded.size > MAX_MODELS) this.loaded.delete(oldest);
    return model;
  }

  start(name) {
    const model = this.read(this.models[name]);
    model.catch(() => this.loaded.delete(name));
    return model;
  }

  /** @param {SiteModel} entry */
  async read(entry) {
    const { name, config, weights, languages } = entry;
    const files = [
      ...weights,
      entry.source_tokenizer,
      ...(entry.target_tokenizer.url === entry.source_tokenizer.url ? [] : [entry.target_tokenizer]),
    ];
    const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
    let done = 0;
    const onBytes = (count) => {
      done += count;
      this.onProgress({ name, done, total });
    };
    try {
      const contents = await Promise.all(files.map((file) => this.fetchFile(name, file, onBytes)));
      const named = weights.map(({ url }, index) => ({ name: url, data: contents[index] }));
      const tokenizers = contents.slice(weights.length).map((data) => new Tokenizer(JSON.parse(new TextDecoder().decode(data))));
      const [sourceTokenizer, targetTokenizer = sourceTokenizer] = tokenizers;
      return { name, config, languages, sourceTokenizer, targetTokenizer, transformer: new Transformer(config, named) };
    } finally {
      this.onProgress({ name, done: total, total });
    }
  }

  /**
   * @param {string} model
   * @param {SiteFile} file
   * @param {(count: number) => void} onBytes
   */
  async fetchFile(model, { url, sha256 }, onBytes) {
    const fault = (word) => new Fault('model', word, { given: model, file: url });
    let data;
    try {
      const response = await fetch(new URL(url, this.base));
      if (!response.ok) throw fault('file_missing');
      data = await readBody(response, onBytes);
    } catch (error) {
      throw error instanceof Fault ? error : fault('file_missing');
    }
    const content = await decompress(data).catch(() => null);
    const isWhole = content && (!globalThis.crypto?.subtle || hex(await crypto.subtle.digest('SHA-256', content)) === sha256);
    if (!isWhole) throw fault('file_damaged');
    return content;
  }
}
