// Result of the interventions in the translate form: a headline, and the translation before and after in large type.

import { make, replace } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { desk } from '../parts/desk.js';
import { changesLabel, changesText } from './interventions.js';

const AS_LIKELY = 0.005; // nats; smaller changes are shown as equally likely
const EXPONENT_FROM = 1e6; // larger factors are shown as powers of ten
const NO_SPACE_BEFORE = /^[.,!?;:…%)\]’'。，！？；：、）]/u;
const WITHOUT_SPACES = /^(zh|ja|th)/;

/** "52", "1.3" or "2 · 10^7": the factor by which a probability changed. */
export function factorText(loss) {
  const factor = Math.exp(Math.abs(loss));
  if (factor >= EXPONENT_FROM) return factor.toExponential(0).replace('e+', ' · 10^');
  return factor < 10 ? factor.toFixed(1) : String(Math.round(factor));
}

export class ChangedSentence {
  /** Show the pending interventions; the previous result stays visible until the new one arrives. */
  wait(changes, translation) {
    if (!changes.length) return this.clear();
    desk().change.textContent = changesLabel(changes, translation.source_text);
    desk().root?.classList.add('changing');
    return undefined;
  }

  clear() {
    desk().change.textContent = t('change_question');
    this.setLines([], []);
  }

  /** Draw the server's result; clear the view without a result or interventions. */
  draw(result, translation, changes) {
    desk().root?.classList.remove('changing');
    if (!result || !changes.length) return this.clear();
    const sentenceChanged = result.words.some((word) => word.before !== word.after);
    // The old translation is wrong for a swapped sentence.
    const swapped = changes.some(({ action }) => action === 'swap');
    const loss = result.after - result.before;
    const likely = Math.abs(loss) < AS_LIKELY ? 'as' : loss < 0 ? 'less' : 'more';
    const values = {
      changes: changesText(changes, translation.source_text),
      sentence: t(sentenceChanged ? 'change_other' : 'change_same'),
    };
    const likelihood = swapped ? '' : t(`change_likely_${likely}`, { times: factorText(loss) });
    desk().change.textContent = t(swapped ? 'change_says_swapped' : 'change_says', { ...values, likely: likelihood });
    if (!sentenceChanged) return this.setLines([], []);
    const { target } = translation.model;
    const styledWords = (side, otherSide, look) =>
      result.words
        .filter((word) => word[side] !== null && !isEnd(word, translation))
        .map((word) => [word[side], word[side] === word[otherSide] ? '' : look]);
    return this.setLines(makeLine(styledWords('before', 'after', 'gone'), target), makeLine(styledWords('after', 'before', 'new'), target));
  }

  setLines(before, after) {
    replace(desk().before, ...before);
    replace(desk().after, ...after);
    desk().root?.classList.toggle('changed', after.length > 0);
  }
}

/** Whether a word is the end token. */
const isEnd = ({ places, before, after }, { target }) =>
  places
    ? places.every((position) => target[position]?.special)
    : target.some(({ special, label }) => special && label === (after ?? before));

/** Join words with spaces if their language uses them. */
function makeLine(words, language) {
  const spaced = !WITHOUT_SPACES.test(language);
  return words.flatMap(([word, look], index) => {
    const space = spaced && index > 0 && !NO_SPACE_BEFORE.test(word) ? ' ' : '';
    return [space, make('bdi', { lang: language || null, class: look }, word)];
  });
}
