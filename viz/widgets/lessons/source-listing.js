// The function that computed the step, as it stands in the running code, with the line that did it lit.

import { make, setScrollable } from '../core/dom.js';
import { t } from '../core/i18n.js';

const WORDS = /\b(def|return|if|else|elif|is|None|not|for|in|while|self|True|False|class|and|or|with|as|lambda)\b/;

/** `holds`: variants of the current model, which select the highlighted line. */
export function sourceBox({ file, name, lines, lit, otherwise }, holds) {
  const special = Object.keys(otherwise ?? {}).find((each) => holds.includes(each));
  const shown = special ? otherwise[special] : lit;
  const about = t(shown.length > 1 ? 'lesson_lines_ran' : 'lesson_line_ran', { lines: shown.join(', ') });
  const code = make(
    'pre',
    { 'aria-label': t('lesson_source', { name }) },
    ...lines.map(([number, text]) => line(number, text, shown.includes(number))),
  );
  setScrollable(code, true);
  const head = make('p', { class: 'head' }, make('b', {}, file), make('span', { class: 'numeric' }, about));
  return make('section', { class: 'lesson-source' }, head, code);
}

function line(number, text, isLit) {
  return make(
    'div',
    { class: isLit ? 'lit' : '' },
    make('i', {}, String(number)),
    make('span', {}, ...highlightSyntax(text), text ? '' : ' '),
  );
}

/** Keywords and comments stand out, by text nodes alone. */
function highlightSyntax(text) {
  if (/^\s*("""|#)/.test(text)) return [make('span', { class: 'comment' }, text)];
  const comment = text.search(/ {2}# /);
  const code = comment < 0 ? text : text.slice(0, comment);
  const parts = code.split(WORDS).map((part, place) => (place % 2 ? make('span', { class: 'keyword' }, part) : part));
  return comment < 0 ? parts : [...parts, make('span', { class: 'comment' }, text.slice(comment))];
}
