// Questions about a step. The correct answer is computed from the model's numbers; no question is shown
// if the numbers are inconclusive.

import { isShiftedHead } from '../core/default-head.js';
import { make, fillElements, replace } from '../core/dom.js';
import { formatSigned, argMax } from '../core/map-view.js';
import { hasPhrase, t } from '../core/i18n.js';
import { numberTexts } from './labels.js';
import { recordGuess } from './progress.js';
import { rowNumbers, softmax } from './tensor-cache.js';

const MIN_MARGIN = 0.1; // minimum difference between the best and the second-best value
const EQUAL_TOLERANCE = 1e-6; // smaller differences between weights count as equal
const [MOST, SOME] = [0.5, 0.1]; // minimum shares of active neurons for the options `most` and `some`

/**
 * Returns options, the correct index, and values for the answer; null if the numbers are inconclusive. `names`: names of
 * the options, whose phrases `…_why_NAME` say why they are wrong; `guesses`: values for `…_why` of each option;
 * `variant`: variant of the answer.
 */
export function makeQuestion(scene) {
  const { ask } = scene.step;
  return ask && ANSWER_FUNCTIONS[ask.answer_function](scene, ask.options);
}

const resultNumbers = ({ step, result }) => numberTexts(step.lesson, result.numbers);

const ANSWER_FUNCTIONS = {
  /** The experiment returns the correct option; null if its numbers are inconclusive. */
  experiment(scene, options) {
    return scene.result?.right ? phraseOptions(scene, options, scene.result.right, resultNumbers(scene)) : null;
  },

  /** Number of tokens that the model reads. The wrong options are smaller by one and two. */
  count(scene) {
    const count = scene.translation.source.length;
    const options = [count - 2, count - 1, count].map(String);
    return { options, right: 2, values: { count }, guesses: options.map((guess) => ({ guess })) };
  },

  /** Change of the row's largest weight without the division by √d_k. */
  unscaled(scene, options) {
    const row = rowNumbers(scene.tensorByName('raw'), scene.row);
    const [without, scaled] = [softmax(row), softmax(rowNumbers(scene.tensorByName('scaled'), scene.row))].map((weights) =>
      Math.max(...weights),
    );
    if (scene.number('divisor') === 1 || Math.abs(without - scaled) < MIN_MARGIN / 10) return null;
    return phraseOptions(scene, options, without > scaled ? 'larger' : 'smaller', {
      without: formatSigned(without),
      scaled: formatSigned(scaled),
    });
  },

  /** Change of the weights if the same amount is added to every score. */
  shifted(scene, options) {
    const scores = rowNumbers(scene.serverTensor('scores'), scene.row);
    const [before, after] = [softmax(scores), softmax(scores.map((score) => score + 5))];
    const maxChange = Math.max(...before.map((weight, index) => Math.abs(weight - after[index])));
    const growth = Math.max(...after) - Math.max(...before);
    return phraseOptions(scene, options, maxChange < 10 * EQUAL_TOLERANCE ? 'nothing' : growth > 0 ? 'grow' : 'even', {});
  },

  /** Share of the feed-forward network's neurons that are above zero. */
  awake(scene, options) {
    const hidden = rowNumbers(scene.tensorByName('feed_forward.hidden'), scene.row);
    const share = hidden.reduce((count, value) => count + (value > 0 ? 1 : 0), 0) / hidden.length;
    if ([MOST, SOME].some((edge) => Math.abs(share - edge) < 0.02)) return null;
    return phraseOptions(scene, options, share > MOST ? 'most' : share > SOME ? 'some' : 'few', {});
  },

  /** Part of the decoder's attention map that is empty. */
  later(scene, options) {
    const { rows, columns, numbers } = scene.tensorByName('weights');
    const half = (includes) =>
      numbers.reduce((total, weight, index) => total + (includes(Math.floor(index / columns), index % columns) ? weight : 0), 0);
    const sums = {
      upper: half((row, column) => column > row),
      lower: half((row, column) => column < row),
      diagonal: half((row, column) => row === column),
    };
    if (rows < 2 || scene.part !== 0) return phraseOptions(scene, options, 'upper', {});
    return phraseOptions(
      scene,
      options,
      options.reduce((smallest, option) => (sums[option] < sums[smallest] ? option : smallest)),
      {},
    );
  },

  /** Key that the row attends to most. */
  strongest(scene) {
    const weights = rowNumbers(scene.tensorByName('weights'), scene.row);
    const best = argMax(weights);
    const ranked = [...weights].sort((a, b) => b - a);
    if (ranked.length < 2 || ranked[0] - ranked[1] < MIN_MARGIN) return null;
    const options = scene.columns.map(({ label }) => label);
    const guesses = options.map((guess, index) => ({ guess, guess_weight: formatSigned(weights[index]) }));
    return {
      options,
      after: options.map((label, index) => `${label} ${formatSigned(weights[index], 2)}`),
      right: best,
      values: { key: options[best], weight: formatSigned(weights[best]) },
      guesses,
      variant: isShiftedHead(scene.translation, { kind: scene.kind, layer: scene.layer, head: scene.head }) ? 'late' : '',
    };
  },

  /** Most probable next token. */
  next(scene) {
    const { best, log_sum: logSum } = scene.logits;
    const probabilities = best.map(([, , logit]) => Math.exp(logit - logSum));
    if (probabilities[0] - probabilities[1] < MIN_MARGIN) return null;
    const candidates = best.slice(0, 4);
    // Sorted by id, so that the order does not reveal the answer.
    const order = [...candidates.keys()].sort((a, b) => candidates[a][1] - candidates[b][1]);
    const options = order.map((index) => candidates[index][0]);
    const [first, second] = [0, 1].map((index) => ({ label: candidates[index][0], chance: formatSigned(probabilities[index]) }));
    const values = { first: first.label, first_chance: first.chance, second: second.label, second_chance: second.chance };
    const guesses = order.map((index) => ({ guess: candidates[index][0], guess_chance: formatSigned(probabilities[index]) }));
    return { options, right: order.indexOf(0), values, guesses };
  },
};

/** A question whose options are phrases. */
function phraseOptions({ step }, options, right, values) {
  const names = options.map((option) => t(`lesson_${step.lesson}_${step.name}_option_${option}`));
  return { options: names, names: options, right: options.indexOf(right), values };
}

/**
 * Phrase key and values that explain why a wrong option is wrong; null without such a phrase. `always`: also for the correct
 * option, whose phrase describes the option if a question is asked per setting.
 */
export function reasonFor(base, content, option, always = false) {
  if (option < 0 || (option === content.right && !always)) return null;
  const key = content.names ? `${base}_why_${content.names[option]}` : `${base}_why`;
  return hasPhrase(key) ? { key, values: content.guesses?.[option] ?? {} } : null;
}

/** Key of the answer: that of the content's variant, if it has a phrase. */
export const answerKey = (base, { variant }) =>
  variant && hasPhrase(`${base}_answer_${variant}`) ? `${base}_answer_${variant}` : `${base}_answer`;

const makeBold = (values) =>
  Object.fromEntries(Object.entries(values).map(([name, text]) => [name, make('b', {}, make('bdi', {}, String(text)))]));

/** A question with its options and answer. `chosenOption`: the chosen option; −1: revealed without a guess. */
export class Question {
  constructor(choose) {
    this.choose = choose;
    this.description = make('p', { class: 'asks' });
    this.options = make('div', { class: 'options' });
    this.answer = make('div', { class: 'answer', 'aria-live': 'polite' });
    this.element = make('section', { class: 'lesson-ask', hidden: true }, this.description, this.options, this.answer);
  }

  /** `content`: the result of `makeQuestion`; `asks`: the answer cannot be revealed without a guess. */
  draw(base, content, { chosenOption, asks, asksPerSetting = false }, values) {
    this.element.hidden = !content;
    if (!content) return;
    const allValues = { ...values, ...content.values };
    const boldValues = makeBold(allValues);
    const focused = this.options.contains(document.activeElement);
    replace(this.description, ...fillElements(t(`${base}_ask`), boldValues));
    const isOpen = chosenOption === undefined;
    const buttons = content.options.map((text, index) => {
      const result = isOpen ? '' : index === content.right ? ' right' : index === chosenOption ? ' wrong' : '';
      const attributes = {
        type: 'button',
        class: `option${result}`,
        disabled: !isOpen,
        onclick: () => this.recordGuess(base, index, index === content.right),
      };
      return make('button', attributes, make('bdi', {}, isOpen ? text : (content.after?.[index] ?? text)));
    });
    replace(this.options, ...buttons);
    if (isOpen) {
      const showButton = () => make('button', { type: 'button', class: 'link', onclick: () => this.choose(-1) }, t('lesson_just_show'));
      replace(this.answer, asks ? make('span', { class: 'quiet' }, t('lesson_asks_says')) : showButton());
      return;
    }
    const verdict = chosenOption < 0 ? null : make('b', {}, t(chosenOption === content.right ? 'lesson_right' : 'lesson_wrong'));
    const filled = (key, more = {}) => fillElements(t(key), makeBold({ ...allValues, ...more }));
    const reason = reasonFor(base, content, chosenOption);
    const why = reason ? make('p', { class: 'why' }, ...filled(reason.key, reason.values)) : null;
    const settingReason = asksPerSetting ? reasonFor(base, content, content.right, true) : null;
    replace(
      this.answer,
      verdict,
      ' ',
      why,
      ...filled(answerKey(base, content)),
      settingReason ? make('p', {}, ...filled(settingReason.key)) : null,
    );
    if (focused) {
      this.answer.tabIndex = -1;
      this.answer.focus({ preventScroll: true }); // the pressed button was replaced
    }
  }

  recordGuess(base, index, isRight) {
    recordGuess(base, isRight);
    this.choose(index);
  }
}
