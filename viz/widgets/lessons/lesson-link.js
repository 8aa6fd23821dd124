// Lesson part of the permalink: "walk.softmax.2.token-4.encoder-0-7"; control values of an experiment
// controls stands there, too: "heads.scale.0.set-width-64". A link that ends in "asks" asks every question of its lesson afresh.

import { defaultHead, isWord } from '../core/default-head.js';
import { informativeRow } from '../core/selection.js';
import { argMax } from '../core/map-view.js';
import { escapeLinkPart, unescapeLinkPart } from './control-values.js';

const QUESTIONS_FLAG = 'asks';
const KINDS = ['encoder', 'decoder', 'cross'];
const INDEX_FIELDS = ['token', 'key', 'dimension', 'written'];
const MAX_PEAK = 0.45; // of its weight that the largest of a telling row has: neither all nor evenly shared out

/** What an address says: the lesson, the step, the part of it, and whatever was chosen. */
export function parseLessonLink(text) {
  const [lesson = '', step = '', part = '0', ...rest] = text.split('.');
  /** @type {any} */
  const choice = { lesson, step, part: wholeOf(part) ?? 0, chosen: {}, asks: rest.includes(QUESTIONS_FLAG) };
  for (const each of rest) {
    const set = /^set-(\w+)-(.*)$/.exec(each);
    if (set) {
      const value = unescapeLinkPart(set[2]);
      if (value !== null) choice.chosen.set = { ...choice.chosen.set, [set[1]]: value };
      continue;
    }
    const [name, ...numbers] = each.split('-');
    const read = numbers.map(wholeOf);
    if (read.some((number) => number === null)) continue;
    if (INDEX_FIELDS.includes(name) && read.length === 1) choice.chosen[name] = read[0];
    if (KINDS.includes(name) && read.length === 2) choice.chosen[name] = { layer: read[0], head: read[1] };
  }
  return choice;
}

const wholeOf = (text) => (/^\d{1,6}$/.test(text) ? Number(text) : null);

export function formatLessonLink({ lesson, step, part, chosen, asks }) {
  if (!lesson) return '';
  const said = INDEX_FIELDS.filter((name) => chosen[name] !== undefined).map((name) => `${name}-${chosen[name]}`);
  const heads = KINDS.filter((kind) => chosen[kind]).map((kind) => `${kind}-${chosen[kind].layer}-${chosen[kind].head}`);
  const set = Object.entries(chosen.set ?? {}).map(([name, value]) => `set-${name}-${escapeLinkPart(value)}`);
  return [lesson, step, part, ...said, ...heads, ...set, ...(asks ? [QUESTIONS_FLAG] : [])].join('.');
}

/** Resolved selection of a step: valid choices, else informative defaults. */
export function resolveSelection(translation, chosen) {
  const within = (place, count, otherwise) => (place === undefined || place >= count ? otherwise : place);
  const heads = {};
  for (const kind of KINDS) {
    const [layers, count] = [translation.layers(kind), translation.heads(kind)];
    const given = chosen[kind];
    heads[kind] = given && given.layer < layers && given.head < count ? given : firstHead(translation, kind);
  }
  const token = within(chosen.token, translation.source.length, longest(translation.source));
  const { layer, head } = heads.encoder;
  const row = translation
    .map('encoder', layer, head)
    .weights.subarray(token * translation.source.length, (token + 1) * translation.source.length);
  const told = translation.tensors.cross && informativeRow(translation, { kind: 'cross', ...heads.cross }, { words: false, special: true });
  return {
    ...heads,
    set: chosen.set ?? {},
    token,
    key: within(chosen.key, translation.source.length, argMax(row)),
    dimension: chosen.dimension ?? 0,
    written: within(chosen.written, translation.target.length, told ?? 0),
  };
}

/** Of cross-attention the head that aligns words, of others one whose row is neither plain nor blurred. */
function firstHead(translation, kind) {
  if (kind === 'cross') return defaultHead(translation);
  const tokens = translation.rows(kind);
  const row = kind === 'encoder' ? longest(tokens) : tokens.length - 1;
  let best = { head: 0, gap: Infinity };
  for (let head = 0; head < translation.heads(kind); head++) {
    const map = translation.map(kind, 0, head);
    const weights = Array.from(map.weights.subarray(row * map.columns, (row + 1) * map.columns), (weight) => weight || 0);
    const top = argMax(weights);
    const gap = Math.abs(weights[top] - MAX_PEAK) + (top === row ? 1 : 0);
    if (gap < best.gap) best = { head, gap };
  }
  return { layer: 0, head: best.head };
}

/** The longest word, which is the most interesting default. */
function longest(tokens) {
  const lengths = tokens.map((token) => (isWord(token) ? [...token.label].length : 0));
  return argMax(lengths);
}
