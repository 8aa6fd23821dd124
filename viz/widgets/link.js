// The address always holds what one sees: sentence, model, options, and where one looks. Only what is not usual is in it.

import { on, state } from './state.js';
import { KINDS } from './answer.js';

const USUAL = { kind: 'cross', view: 'matrix', scale: 'linear', palette: 'headlight', special: true, words: false, rescale: false, threshold: 0.05, tab: 'heads' };
const CHOICES = { kind: KINDS, view: ['matrix', 'lines', 'numbers'], scale: ['linear', 'log', 'row'], palette: ['headlight', 'cividis', 'grey'] };
const FLAGS = ['special', 'words', 'rescale'];
const REQUEST = ['text', 'model', 'beam_size', 'length_penalty', 'temperature', 'seed', 'target', 'target_ids', 'prefix_ids'];
const SAVED = ['kind', 'layer', 'head', 'row', 'column', 'pinned', 'tab', 'answer', 'busy', 'chosenLanguage', ...Object.keys(USUAL)];

const place = (text) => (/^\d{1,3}$/.test(text) ? Number(text) : text === 'mean' || text === 'max' ? text : undefined);

/** Token ids where the very words matter: a beginning, or a hypothesis of a search. */
const idList = (name, ids) => (/^\d+(\.\d+)*$/.test(ids ?? '') ? { [name]: ids.split('.').map(Number) } : {});

/** What the address says, as far as it makes sense. */
export function readLink(hash = location.hash) {
  const values = Object.fromEntries(new URLSearchParams(hash.slice(1)));
  const wanted = { request: {} };
  for (const name of REQUEST) if (name in values) wanted.request[name] = values[name];
  for (const name of ['beam_size', 'seed', 'length_penalty', 'temperature']) {
    if (name in wanted.request && Number.isFinite(Number(wanted.request[name]))) wanted.request[name] = Number(wanted.request[name]);
    else delete wanted.request[name];
  }
  const { prefix_ids, target_ids, ...request } = wanted.request;
  wanted.request = { ...request, ...idList('prefix', prefix_ids), ...idList('target', target_ids) };
  for (const [name, choices] of Object.entries(CHOICES)) if (choices.includes(values[name])) wanted[name] = values[name];
  for (const name of FLAGS) if (values[name] === '0' || values[name] === '1') wanted[name] = values[name] === '1';
  for (const name of ['layer', 'head']) if (place(values[name] ?? '') !== undefined) wanted[name] = place(values[name]);
  for (const name of ['row', 'column']) if (/^\d{1,3}$/.test(values[name] ?? '')) wanted[name] = Number(values[name]);
  const [layer, head] = (values.pinned ?? '').split('.').map(place);
  if (layer !== undefined && head !== undefined) wanted.pinned = { layer, head };
  const threshold = Number(values.threshold ?? NaN);
  if (threshold >= 0 && threshold <= 1) wanted.threshold = threshold;
  if (/^[a-z]+$/.test(values.tab ?? '')) wanted.tab = values.tab;
  if (values.language === 'en' || values.language === 'zh') wanted.language = values.language;
  return wanted;
}

/** A row, column or head that this answer has; anything else is let go. */
export function withinAnswer(answer, selection) {
  const within = (number, count) => (typeof number === 'number' && number >= count ? count - 1 : number);
  const kind = answer.tensors[selection.kind] ? selection.kind : KINDS.find((each) => answer.tensors[each]);
  const [layers, heads] = [answer.layers(kind), answer.heads(kind)];
  const inside = (number, count) => (number !== null && number < count ? number : null);
  return {
    kind,
    layer: within(selection.layer, layers),
    head: within(selection.head, heads),
    pinned: selection.pinned && { layer: within(selection.pinned.layer, layers), head: within(selection.pinned.head, heads) },
    row: inside(selection.row, answer.rows(kind).length),
    column: inside(selection.column, answer.columns(kind).length),
  };
}

export function writeLink() {
  const values = new URLSearchParams();
  const request = state.answer?.request;
  if (request) {
    values.set('text', request.text);
    const options = request.options;
    const told = { model: request.model, beam_size: options.beam_size, length_penalty: options.length_penalty, temperature: options.temperature, seed: options.seed };
    for (const [name, value] of Object.entries(told)) if (value !== state.usualRequest?.[name]) values.set(name, value);
    if (typeof request.target === 'string') values.set('target', request.target);
    for (const name of ['prefix', 'target']) if (Array.isArray(request[name])) values.set(`${name}_ids`, request[name].join('.'));
  }
  for (const [name, usual] of Object.entries(USUAL)) {
    if (state[name] !== usual) values.set(name, typeof usual === 'boolean' ? Number(state[name]) : state[name]);
  }
  values.set('layer', state.layer);
  values.set('head', state.head);
  for (const name of ['row', 'column']) if (state[name] !== null) values.set(name, state[name]);
  if (state.pinned) values.set('pinned', `${state.pinned.layer}.${state.pinned.head}`);
  if (state.chosenLanguage) values.set('language', state.chosenLanguage);
  return `#${values}`;
}

/** Keep the address up to date, also that of a page which shows us in a frame. */
export function watchState() {
  let waiting = 0;
  on(SAVED, () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (state.busy) return; // until the answer is there, the address says what was asked for
      const hash = writeLink();
      if (hash === location.hash) return;
      history.replaceState(history.state, '', hash);
      if (window.parent !== window) window.parent.postMessage({ queryString: '', hash }, '*');
    }, 120);
  });
}
