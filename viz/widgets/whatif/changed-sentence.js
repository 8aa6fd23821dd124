// Result of the interventions in the translate form: a headline, and the translation before and after in large type.

import { make, replace } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { desk } from '../parts/desk.js';
import { changesLabel, changesText } from './interventions.js';

const MAX_EQUAL_CHANGE = 0.005; // nats; smaller changes are shown as equally likely
const MIN_EXPONENT_FACTOR = 1e6; // larger factors are shown as powers of ten
const NO_SPACE_BEFORE = /^[.,!?;:…%)\]’'。，！？；：、）]/u;
const LANGUAGES_WITHOUT_SPACES = /^(zh|ja|th)/;

/** The factor by which a probability changes, from the change of its logarithm in nats: "52", "1.3" or "2 · 10^7". */
export function factorText(change) {
  const factor = Math.exp(Math.abs(change));
  if (factor >= MIN_EXPONENT_FACTOR) return factor.toExponential(0).replace('e+', ' · 10^');
  return factor < 10 ? factor.toFixed(1) : String(Math.round(factor));
}

export class ChangedSentence {
  /** Names the pending interventions; the previous result stays visible until the new one arrives. */
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

  /** Draws the server's result. Clears the view if there is no result or intervention. */
  draw(result, translation, changes) {
    desk().root?.classList.remove('changing');
    if (!result || !changes.length) return this.clear();
    const sentenceChanged = result.words.some((word) => word.before !== word.after);
    // A swap changes the source, so the probability of the old translation is not comparable.
    const hasSwap = changes.some(({ action }) => action === 'swap');
    const change = result.after - result.before;
    const comparison = Math.abs(change) < MAX_EQUAL_CHANGE ? 'as' : change < 0 ? 'less' : 'more';
    const values = {
      changes: changesText(changes, translation.source_text),
      sentence: t(sentenceChanged ? 'change_other' : 'change_same'),
    };
    const likelihood = hasSwap ? '' : t(`change_likely_${comparison}`, { times: factorText(change) });
    setHeadline(t(hasSwap ? 'change_says_swapped' : 'change_says', { ...values, likely: likelihood }));
    if (!sentenceChanged) return this.setLines([], []);
    const { target } = translation.model;
    const styledWords = (side, otherSide, className) =>
      result.words
        .filter((word) => word[side] !== null && !isEnd(word, translation))
        .map((word) => [word[side], word[side] === word[otherSide] ? '' : className]);
    return this.setLines(
      joinWords(styledWords('before', 'after', 'gone'), target),
      joinWords(styledWords('after', 'before', 'new'), target),
    );
  }

  /** Shows the translation before and after the interventions, as nodes. */
  setLines(originalNodes, changedNodes) {
    replace(desk().before, ...originalNodes);
    replace(desk().after, ...changedNodes);
    desk().root?.classList.toggle('changed', changedNodes.length > 0);
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

/** Elements of [word, class] pairs, separated by spaces if the language uses them. */
function joinWords(words, language) {
  const hasSpaces = !LANGUAGES_WITHOUT_SPACES.test(language);
  return words.flatMap(([word, className], index) => {
    const space = hasSpaces && index > 0 && !NO_SPACE_BEFORE.test(word) ? ' ' : '';
    return [space, make('bdi', { lang: language || null, class: className }, word)];
  });
}
