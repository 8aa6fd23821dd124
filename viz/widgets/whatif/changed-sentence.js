// Result of the interventions in the translate form: a headline, and the translation before and after in large type.

import { make, replace } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { desk } from '../parts/desk.js';
import { changesLabel, changesText } from './interventions.js';

const MAX_EQUAL_CHANGE = 0.005; // nats; smaller changes are shown as equally likely
const EXPONENT_FROM = 1e6; // larger factors are shown as powers of ten
const NO_SPACE_BEFORE = /^[.,!?;:…%)\]’'。，！？；：、）]/u;
const LANGUAGES_WITHOUT_SPACES = /^(zh|ja|th)/;

/** The factor of a change of log probability in nats: "52", "1.3" or "2 · 10^7". */
export function factorText(change) {
  const factor = Math.exp(Math.abs(change));
  if (factor >= EXPONENT_FROM) return factor.toExponential(0).replace('e+', ' · 10^');
  return factor < 10 ? factor.toFixed(1) : String(Math.round(factor));
}

export class ChangedSentence {
  /** Show the pending interventions; the previous result stays visible until the new one arrives. */
  showPending(changes, translation) {
    if (!changes.length) return this.clear();
    setHeadline(changesLabel(changes, translation.source_text));
    desk().root?.classList.add('changing');
    return undefined;
  }

  clear() {
    setHeadline(t('change_question'));
    this.setLines([], []);
  }

  /** Draw the server's result; clear the view without a result or interventions. */
  draw(result, translation, changes) {
    desk().root?.classList.remove('changing');
    if (!result || !changes.length) return this.clear();
    const sentenceChanged = result.words.some((word) => word.before !== word.after);
    // A swap changes the source, so the probability of the old translation is not comparable.
    const swapped = changes.some(({ action }) => action === 'swap');
    const change = result.after - result.before;
    const comparison = Math.abs(change) < MAX_EQUAL_CHANGE ? 'as' : change < 0 ? 'less' : 'more';
    const values = {
      changes: changesText(changes, translation.source_text),
      sentence: t(sentenceChanged ? 'change_other' : 'change_same'),
    };
    const likelihood = swapped ? '' : t(`change_likely_${comparison}`, { times: factorText(change) });
    setHeadline(t(swapped ? 'change_says_swapped' : 'change_says', { ...values, likely: likelihood }));
    if (!sentenceChanged) return this.setLines([], []);
    const { target } = translation.model;
    const styledWords = (side, otherSide, className) =>
      result.words
        .filter((word) => word[side] !== null && !isEnd(word, translation))
        .map((word) => [word[side], word[side] === word[otherSide] ? '' : className]);
    return this.setLines(makeLine(styledWords('before', 'after', 'gone'), target), makeLine(styledWords('after', 'before', 'new'), target));
  }

  setLines(before, after) {
    replace(desk().before, ...before);
    replace(desk().after, ...after);
    desk().root?.classList.toggle('changed', after.length > 0);
  }
}

/** Sets the headline. The style sheet capitalises its first letter, unless it begins with a quoted word. */
function setHeadline(text) {
  desk().change.textContent = text;
  desk().change.classList.toggle('quotes', text.startsWith('“'));
}

/** Whether a word is the end token. */
const isEnd = ({ places, before, after }, { target }) =>
  places
    ? places.every((position) => target[position]?.special)
    : target.some(({ special, label }) => special && label === (after ?? before));

/** Join words with spaces if their language uses them. */
function makeLine(words, language) {
  const hasSpaces = !LANGUAGES_WITHOUT_SPACES.test(language);
  return words.flatMap(([word, className], index) => {
    const space = hasSpaces && index > 0 && !NO_SPACE_BEFORE.test(word) ? ' ' : '';
    return [space, make('bdi', { lang: language || null, class: className }, word)];
  });
}
