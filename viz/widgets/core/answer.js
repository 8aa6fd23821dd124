// A translation as the server sent it: tokens, and every weight as a 16-bit number.

import { languageTag } from './tags.js';

export const FULL = 65535; // stands for a weight of one
export const KINDS = ['encoder', 'decoder', 'cross'];

export class Answer {
  constructor(values) {
    Object.assign(this, values);
    const { source, target } = values.model;
    this.model = { ...values.model, source: languageTag(source), target: languageTag(target) };
    this.source = placed(values.source, values.source_text).map((token, place) => ({ ...token, key: `s${place}` }));
    this.target = placed(values.target, values.text).map((token, place) => ({ ...token, key: `t${place}` }));
    this.start = { ...values.start, key: 'b' };
    this.tensors = {};
    for (const kind of KINDS.filter((each) => values.attention[each])) {
      const { shape, weights } = values.attention[kind];
      this.tensors[kind] = { shape, numbers: decode(weights) };
    }
    delete this.attention; // the text of the numbers: three times their size
    this.maps = new Map();
  }

  /** The request again, as the server takes it: every value by its name. */
  asked() {
    const { options, ...request } = this.request;
    const { alternatives, ...choices } = options;
    return { ...request, ...choices };
  }

  layers(kind) {
    return this.tensors[kind].shape[0];
  }

  heads(kind) {
    return this.tensors[kind].shape[1];
  }

  rows(kind) {
    return kind === 'encoder' ? this.source : this.target;
  }

  columns(kind) {
    return kind === 'decoder' ? [this.start, ...this.target.slice(0, -1)] : this.source;
  }

  /** The token that a row's query was computed from. */
  after(kind, row) {
    if (kind === 'encoder') return this.source[row];
    return row ? this.target[row - 1] : this.start;
  }

  /** One map, row by row; NaN where the model may not look. Averages and maxima of heads, averages of layers. */
  map(kind, layer, head) {
    const key = `${kind} ${layer} ${head}`;
    if (!this.maps.has(key)) this.maps.set(key, this.compute(kind, layer, head));
    return this.maps.get(key);
  }

  compute(kind, layer, head) {
    const { shape, numbers } = this.tensors[kind];
    const [layers, heads, rows, columns] = shape;
    const size = rows * columns;
    const weights = new Float32Array(size);
    const across = (chosen, count) => (typeof chosen === 'number' ? [chosen] : [...Array(count).keys()]);
    const chosenLayers = across(layer, layers);
    const chosenHeads = across(head, heads);
    for (const eachLayer of chosenLayers) {
      for (const eachHead of chosenHeads) {
        const offset = (eachLayer * heads + eachHead) * size;
        for (let cell = 0; cell < size; cell++) {
          const weight = numbers[offset + cell] / FULL;
          if (head === 'max') weights[cell] = Math.max(weights[cell], weight);
          else weights[cell] += weight / (chosenLayers.length * chosenHeads.length);
        }
      }
    }
    if (kind === 'decoder') {
      for (let row = 0; row < rows; row++) weights.fill(NaN, row * columns + row + 1, (row + 1) * columns);
    }
    return { weights, rows, columns };
  }
}

/** The server counts whole characters; `slice` counts an emoji as two. Tokens with their places as `slice` takes them. */
export function placed(tokens, text) {
  const starts = [0];
  for (const character of text) starts.push(starts.at(-1) + character.length);
  return tokens.map((token) => ({ ...token, start: starts[token.start], end: starts[token.end] }));
}

/** Weights as they travel: 16-bit numbers. */
export function decode(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Uint16Array(bytes.buffer);
}
