// Source of the function that computes a step, from the running code, with the highlighted line.

import { make, setScrollable } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { hasServer } from '../core/server.js';

const WORDS = /\b(def|return|if|else|elif|is|None|not|for|in|while|self|True|False|class|and|or|with|as|lambda)\b/;

/**
 * `variants`: those of the current model, which select the highlighted line; `trains`: the line runs in training only.
 */
export function sourceBox({ file, name, lines, lit, otherwise }, variants, trains = false) {
  const variant = Object.keys(otherwise ?? {}).find((variant) => variants.includes(variant));
  const highlighted = variant ? otherwise[variant] : lit;
  const ran = !hasServer() ? 'lesson_line_in_python' : highlighted.length > 1 ? 'lesson_lines_ran' : 'lesson_line_ran';
  const caption = t(trains ? 'lesson_line_trains' : ran, { lines: highlighted.join(', ') });
  const code = make(
    'pre',
    { 'aria-label': t('lesson_source', { name }) },
    ...lines.map(([number, text]) => line(number, text, highlighted.includes(number))),
  );
  setScrollable(code, true);
  const header = make('p', { class: 'head' }, make('b', {}, file), make('span', { class: 'numeric' }, caption));
  return make('section', { class: 'lesson-source' }, header, code);
}

function line(number, text, isLit) {
  return make(
    'div',
    { class: isLit ? 'lit' : '' },
    make('i', {}, String(number)),
    make('span', {}, ...highlightSyntax(text), text ? '' : ' '),
  );
}

/** Highlight keywords and comments. The text is inserted as text nodes, never as HTML. */
function highlightSyntax(text) {
  if (/^\s*("""|#)/.test(text)) return [make('span', { class: 'comment' }, text)];
  const comment = text.search(/ {2}# /);
  const code = comment < 0 ? text : text.slice(0, comment);
  const parts = code.split(WORDS).map((part, index) => (index % 2 ? make('span', { class: 'keyword' }, part) : part));
  return comment < 0 ? parts : [...parts, make('span', { class: 'comment' }, text.slice(comment))];
}
