// The sentences as strips of tokens, shaded by the weights of the highlighted token.

import { make, replace } from '../core/dom.js';
import { getTokenText } from '../core/translation.js';
import { languageName } from '../core/i18n.js';

const SCROLL_FROM_TOKENS = 44; // tokens; longer strips scroll
const RIGHT_TO_LEFT = new Set(['ar', 'fa', 'he', 'ur', 'yi', 'ps', 'sd', 'ug', 'dv']);

export function mountTokenStrips(element) {
  element.classList.add('strips');
  let parts = [];

  /** `sentences`: [{side, language, tokens, text, named, idle, long}]; `named`: with the language as a heading. */
  function draw(sentences) {
    if (parts.map(({ side }) => side).join() !== sentences.map(({ side }) => side).join()) build(sentences);
    for (const [index, { language, tokens, text, idle, long = SCROLL_FROM_TOKENS }] of sentences.entries()) {
      const { heading, strip } = parts[index];
      if (heading) heading.textContent = languageName(language);
      strip.lang = language;
      strip.dir = RIGHT_TO_LEFT.has(language) ? 'rtl' : 'ltr';
      strip.classList.toggle('long', tokens.length > long);
      strip.classList.toggle('idle', idle);
      replace(strip, ...tokenElements(tokens, text));
    }
  }

  function build(sentences) {
    parts = sentences.map(({ side, named }) => ({
      side,
      heading: named ? make('div', { class: 'who' }) : null,
      strip: make('div', { class: 'strip', data: { side } }),
    }));
    replace(element, ...parts.flatMap(({ heading, strip }) => [heading, strip]));
  }

  return {
    draw,
    elements: () => element.querySelectorAll('.token'),
    get strips() {
      return parts.map(({ strip }) => strip);
    },
  };
}

/** Token elements with the sentence's spaces between them. Byte pieces of one character share an element. */
export function tokenElements(tokens, text) {
  const spans = [];
  let end = null;
  for (const [index, token] of tokens.entries()) {
    if (token.piece > 0 && index > 0 && tokens[index - 1].start === token.start) {
      spans.at(-1).dataset.keys += ` ${token.key}`;
      continue;
    }
    const next = tokens.slice(index + 1).find(({ piece }) => !piece);
    const joinsPrevious = !token.special && end === token.start;
    const joinsNext = next && !next.special && !token.special && next.start === token.end;
    if (end !== null && !joinsPrevious) spans.push(' ');
    const classes = ['token', token.special && 'special', token.unknown && 'unknown', joinsPrevious && 'joins', joinsNext && 'joined'];
    const reading = getTokenText(token, text);
    spans.push(make('span', { class: classes.filter(Boolean).join(' '), data: { keys: token.key } }, reading));
    end = token.special ? NaN : token.end;
  }
  return spans;
}
