// The two sentences as strips of tokens: point at one, and all it attends to is shaded.

import { make, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { languageName } from '../core/words.js';

const LONG = 44; // tokens: beyond, strips scroll by themselves
const RIGHT_TO_LEFT = new Set(['ar', 'fa', 'he', 'ur', 'yi', 'ps', 'sd', 'ug', 'dv']);

/** The sentences of the page's answer, or of another one. */
export function mountStrips(element, answerOf = () => state.answer) {
  element.classList.add('strips');
  const parts = ['source', 'target'].map((side) => {
    const who = make('div', { class: 'who' });
    const strip = make('div', { class: 'strip', data: { side } });
    element.append(who, strip);
    return { side, who, strip };
  });

  function draw() {
    const answer = answerOf();
    const texts = { source: [answer.source, answer.source_text], target: [[answer.start, ...answer.target], answer.text] };
    for (const { side, who, strip } of parts) {
      const [tokens, text] = texts[side];
      const code = answer.model[side];
      who.textContent = languageName(code);
      strip.lang = code;
      strip.dir = RIGHT_TO_LEFT.has(code) ? 'rtl' : 'ltr';
      strip.classList.toggle('long', tokens.length > LONG);
      strip.classList.toggle('idle', state.kind === (side === 'source' ? 'decoder' : 'encoder'));
      replace(
        strip,
        ...words(
          tokens.filter((token) => state.special || !token.special),
          text,
        ),
      );
    }
  }

  return { draw, elements: () => element.querySelectorAll('.token'), strips: parts.map((part) => part.strip) };
}

/** Tokens with the spaces that the sentence has between them; the pieces of one character are one. */
export function words(tokens, text) {
  const shown = [];
  let end = null;
  for (const [place, token] of tokens.entries()) {
    if (token.piece > 0 && place > 0 && tokens[place - 1].start === token.start) {
      shown.at(-1).dataset.keys += ` ${token.key}`;
      continue;
    }
    const next = tokens[place + 1];
    const touches = !token.special && end === token.start;
    const touched = next && !next.special && !token.special && next.start === token.end;
    if (end !== null && !touches) shown.push(' ');
    const classes = ['token', token.special && 'special', touches && 'joins', touched && 'joined'];
    const reads = token.special ? token.label : text.slice(token.start, token.end).trim() || token.label;
    shown.push(make('span', { class: classes.filter(Boolean).join(' '), data: { keys: token.key } }, reads));
    end = token.special ? NaN : token.end;
  }
  return shown;
}
