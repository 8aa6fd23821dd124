// Lesson part of the permalink: "walk.softmax.2.token-4.encoder-0-7", with the control values of an experiment:
// "heads.scale.0.set-width-64". A link that ends in "asks" resets all questions of the lesson.

import { defaultHead, isWord } from '../core/default-head.js';
import { findInformativeRow } from '../core/selection.js';
import { argMax } from '../core/map-view.js';
import { escapeLinkPart, unescapeLinkPart } from './control-values.js';

const QUESTIONS_FLAG = 'asks';
const KINDS = ['encoder', 'decoder', 'cross'];
const INDEX_FIELDS = ['token', 'key', 'dimension', 'written'];
const TARGET_PEAK = 0.45; // the best largest weight of an example's row: neither peaked nor uniform

/** Parses the lesson part of a permalink: {lesson, step, part, selection, asks}. Invalid parts are ignored. */
export function parseLessonLink(text) {
  const [lesson = '', step = '', part = '0', ...rest] = text.split('.');
  /** @type {any} */
  const choice = { lesson, step, part: parseWhole(part) ?? 0, selection: {}, asks: rest.includes(QUESTIONS_FLAG) };
  for (const part of rest) {
    const control = /^set-(\w+)-(.*)$/.exec(part);
    if (control) {
      const value = unescapeLinkPart(control[2]);
      if (value !== null) choice.selection.set = { ...choice.selection.set, [control[1]]: value };
      continue;
    }
    const [name, ...numbers] = part.split('-');
    const indices = numbers.map(parseWhole);
    if (indices.some((number) => number === null)) continue;
    if (INDEX_FIELDS.includes(name) && indices.length === 1) choice.selection[name] = indices[0];
    if (KINDS.includes(name) && indices.length === 2) choice.selection[name] = { layer: indices[0], head: indices[1] };
  }
  return choice;
}

const parseWhole = (text) => (/^\d{1,6}$/.test(text) ? Number(text) : null);

export function formatLessonLink({ lesson, step, part, selection, asks }) {
  if (!lesson) return '';
  const indexParts = INDEX_FIELDS.filter((name) => selection[name] !== undefined).map((name) => `${name}-${selection[name]}`);
  const heads = KINDS.filter((kind) => selection[kind]).map((kind) => `${kind}-${selection[kind].layer}-${selection[kind].head}`);
  const set = Object.entries(selection.set ?? {}).map(([name, value]) => `set-${name}-${escapeLinkPart(value)}`);
  return [lesson, step, part, ...indexParts, ...heads, ...set, ...(asks ? [QUESTIONS_FLAG] : [])].join('.');
}

/** The selection of a step, with informative defaults for missing and invalid values. */
export function resolveSelection(translation, selection) {
  const validIndex = (index, count, fallback) => (index === undefined || index >= count ? fallback : index);
  const heads = {};
  for (const kind of KINDS) {
    const [layers, count] = [translation.layers(kind), translation.heads(kind)];
    const linkedHead = selection[kind];
    heads[kind] = linkedHead && linkedHead.layer < layers && linkedHead.head < count ? linkedHead : chooseHead(translation, kind);
  }
  const token = validIndex(selection.token, translation.source.length, findLongestWord(translation.source));
  const { layer, head } = heads.encoder;
  const row = translation
    .map('encoder', layer, head)
    .weights.subarray(token * translation.source.length, (token + 1) * translation.source.length);
  const informativeTarget =
    translation.tensors.cross && findInformativeRow(translation, { kind: 'cross', ...heads.cross }, { words: false, special: true });
  return {
    ...heads,
    set: selection.set ?? {},
    token,
    key: validIndex(selection.key, translation.source.length, argMax(row)),
    dimension: selection.dimension ?? 0,
    written: validIndex(selection.written, translation.target.length, informativeTarget ?? 0),
  };
}

/** Default head: for cross-attention the one that aligns words, else the one whose largest weight is nearest to `TARGET_PEAK`. */
function chooseHead(translation, kind) {
  if (kind === 'cross') return defaultHead(translation);
  const tokens = translation.rows(kind);
  const row = kind === 'encoder' ? findLongestWord(tokens) : tokens.length - 1;
  let best = { head: 0, distance: Infinity };
  for (let head = 0; head < translation.heads(kind); head++) {
    const map = translation.map(kind, 0, head);
    const weights = Array.from(map.weights.subarray(row * map.columns, (row + 1) * map.columns), (weight) => weight || 0);
    const peak = argMax(weights);
    const distance = Math.abs(weights[peak] - TARGET_PEAK) + (peak === row ? 1 : 0); // prefers heads that look at another token
    if (distance < best.distance) best = { head, distance };
  }
  return { layer: 0, head: best.head };
}

/** Index of the longest word. */
function findLongestWord(tokens) {
  const lengths = tokens.map((token) => (isWord(token) ? [...token.label].length : 0));
  return argMax(lengths);
}
