// The address always holds what one sees: sentence, model, options, and where one looks. Only what is not usual is in it.

import { KINDS } from './answer.js';
import { USUAL, on, state } from './state.js';
import { bestHead } from './telling.js';
import { axes } from './view.js';

const PLAIN = ['kind', 'view', 'scale', 'palette', 'special', 'words', 'rescale', 'threshold', 'tab']; // as they are, where not usual
const CHOICES = {
  kind: KINDS,
  view: ['matrix', 'lines', 'numbers'],
  scale: ['linear', 'log', 'row'],
  palette: ['headlight', 'cividis', 'grey'],
};
const FLAGS = ['special', 'words', 'rescale'];
const WIDEST = 64; // beam
const LANGUAGES = ['source_language', 'target_language'];
const REQUEST = ['text', 'model', ...LANGUAGES, 'beam_size', 'length_penalty', 'temperature', 'seed', 'target', 'target_ids', 'prefix_ids'];
const SAVED = ['answer', 'busy', 'chosenLanguage', ...Object.keys(USUAL)];

const place = (text, merged) => (/^\d{1,3}$/.test(text) ? Number(text) : merged.includes(text) ? text : undefined);
const PLACES = { layer: (text) => place(text, ['mean']), head: (text) => place(text, ['mean', 'max']) };

/** Token ids where the very words matter: a beginning, or a hypothesis of a search. */
const idList = (name, ids) => (/^\d+(\.\d+)*$/.test(ids ?? '') ? { [name]: ids.split('.').map(Number) } : {});

/** What the address says, as far as it makes sense. */
export function readLink(hash = location.hash) {
  const values = Object.fromEntries(new URLSearchParams(hash.slice(1)));
  const wanted = { request: {} };
  for (const name of REQUEST) if (values[name]) wanted.request[name] = values[name];
  for (const name of ['beam_size', 'seed', 'length_penalty', 'temperature']) {
    if (name in wanted.request && Number.isFinite(Number(wanted.request[name]))) wanted.request[name] = Number(wanted.request[name]);
    else delete wanted.request[name];
  }
  const { prefix_ids, target_ids, ...request } = wanted.request;
  wanted.request = { ...request, ...idList('prefix', prefix_ids), ...idList('target', target_ids) };
  for (const [name, choices] of Object.entries(CHOICES)) if (choices.includes(values[name])) wanted[name] = values[name];
  for (const name of FLAGS) if (values[name] === '0' || values[name] === '1') wanted[name] = values[name] === '1';
  for (const [name, read] of Object.entries(PLACES)) if (read(values[name]) !== undefined) wanted[name] = read(values[name]);
  for (const name of ['row', 'column']) if (/^\d{1,3}$/.test(values[name] ?? '')) wanted[name] = Number(values[name]);
  for (const [name, written] of [
    ['pinned', values.pinned],
    ['besideHead', values.beside_head],
  ]) {
    const [layer, head, ...more] = (written ?? '').split('.');
    const read = { layer: PLACES.layer(layer), head: PLACES.head(head) };
    if (read.layer !== undefined && read.head !== undefined && !more.length) wanted[name] = read;
  }
  if (values.beside && values.beside.length <= 100) wanted.beside = values.beside;
  const beam = /^\d{1,2}$/.test(values.beside_beam ?? '') ? Number(values.beside_beam) : 0;
  if (beam > 0 && beam <= WIDEST) wanted.besideBeam = beam;
  if (values.beside_same === '1') wanted.besideSame = true;
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
  const { rows, columns } = axes(answer, kind, selection); // of whole words there are fewer
  const inside = (number, count) => (number !== null && number < count ? number : null);
  return {
    kind,
    layer: within(selection.layer, layers),
    head: within(selection.head, heads),
    pinned: selection.pinned && { layer: within(selection.pinned.layer, layers), head: within(selection.pinned.head, heads) },
    row: inside(selection.row, rows.length),
    column: inside(selection.column, columns.length),
  };
}

/** All that an address means for this answer: what it leaves out is usual, or the head that tells most. */
export function lookOf(answer, { request, language, tab, ...wanted }) {
  const best = answer.tensors.cross && bestHead(answer);
  const free = ['kind', 'layer', 'head'].every((name) => wanted[name] === undefined);
  const { tab: _, ...usual } = USUAL; // tabs are there before any answer
  const look = { ...usual, ...(best && free ? { kind: 'cross', ...best } : {}), ...wanted };
  return { ...look, ...withinAnswer(answer, look) };
}

/** What is shown, or what was asked for and could not be answered, as an address. */
export function writeLink() {
  const values = new URLSearchParams();
  const asked = state.usualRequest && (state.unanswered ?? state.answer?.asked()); // a saved page has but one, and names none
  if (asked) {
    values.set('text', asked.text);
    const usual = { ...state.usualRequest, ...state.usuals[asked.model] };
    for (const name of ['model', ...LANGUAGES, 'beam_size', 'length_penalty', 'temperature', 'seed']) {
      if (asked[name] !== undefined && asked[name] !== usual[name]) values.set(name, asked[name]);
    }
    if (typeof asked.target === 'string') values.set('target', asked.target);
    for (const name of ['prefix', 'target']) if (Array.isArray(asked[name])) values.set(`${name}_ids`, asked[name].join('.'));
  }
  for (const name of PLAIN) {
    if (state[name] !== USUAL[name]) values.set(name, typeof USUAL[name] === 'boolean' ? Number(state[name]) : state[name]);
  }
  values.set('layer', state.layer);
  values.set('head', state.head);
  for (const name of ['row', 'column']) if (state[name] !== null) values.set(name, state[name]);
  for (const [name, at] of [
    ['pinned', state.pinned],
    ['beside_head', state.besideHead],
  ])
    if (at) values.set(name, `${at.layer}.${at.head}`);
  if (state.beside) values.set('beside', state.beside);
  if (state.besideBeam) values.set('beside_beam', state.besideBeam);
  if (state.besideSame) values.set('beside_same', 1);
  if (state.chosenLanguage) values.set('language', state.chosenLanguage);
  return `#${values}`;
}

/** Keep the address up to date, also that of a page which shows us in a frame. Each translation is an entry of the browser's history. */
export function watchState() {
  let waiting = 0;
  let here = null; // what this entry's translation was asked with; none yet: the next answer is this entry's
  let known = location.hash;
  const keep = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (state.busy || !state.answer) return; // until the answer is there, the address says what was asked for
      if (location.hash !== known) return; // another entry was chosen just now: what is shown must not be written into it
      const asked = JSON.stringify(state.unanswered ?? state.answer.asked());
      const anew = here !== null && asked !== here;
      here = asked;
      const hash = writeLink();
      if (hash === location.hash) return;
      history[anew ? 'pushState' : 'replaceState'](history.state, '', hash);
      known = location.hash;
      if (window.parent !== window) window.parent.postMessage({ queryString: '', hash }, '*');
    }, 120);
  };
  on(SAVED, keep);
  addEventListener('hashchange', () => {
    here = null;
    known = location.hash;
    keep();
  });
}
