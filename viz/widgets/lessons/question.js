// Predict, then reveal: questions from the model's own numbers. The correct answer is computed; unclear cases are not asked.

import { make, fillElements, replace } from '../core/dom.js';
import { formatSigned, argMax } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { numberTexts } from './labels.js';
import { recordGuess } from './progress.js';
import { rowOf, softmax } from './tensor-cache.js';

const MIN_MARGIN = 0.1; // by which the best must be ahead of the next
const EQUAL_TOLERANCE = 1e-6; // weights that differ less are the same
const [MOST, SOME] = [0.5, 0.1]; // of the neurons

/** The options, the index of the correct one, and numbers for the answer; null if unclear. */
export function makeQuestion(scene) {
  const { ask } = scene.step;
  return ask && ANSWER_FUNCTIONS[ask.answer_function](scene, ask.options);
}

const numbersOfFound = ({ step, found }) => numberTexts(step.lesson, found.numbers);

const ANSWER_FUNCTIONS = {
  /** The experiment's question, or null if its numbers are unclear. */
  found(scene, options) {
    return scene.found?.right ? phraseOptions(scene, options, scene.found.right, numbersOfFound(scene)) : null;
  },

  /** How many tokens the model reads: also fewer, as many as there are words, and one less. */
  count(scene) {
    const count = scene.translation.source.length;
    return { options: [count - 2, count - 1, count].map(String), right: 2, values: { count } };
  },

  /** The largest weight of the row without the division. */
  unscaled(scene, options) {
    const row = rowOf(scene.tensorByName('raw'), scene.row);
    const [without, scaled] = [softmax(row), softmax(rowOf(scene.tensorByName('scaled'), scene.row))].map((each) => Math.max(...each));
    if (scene.number('divisor') === 1 || Math.abs(without - scaled) < MIN_MARGIN / 10) return null;
    return phraseOptions(scene, options, without > scaled ? 'larger' : 'smaller', {
      without: formatSigned(without),
      scaled: formatSigned(scaled),
    });
  },

  /** The same amount added to every score. */
  shifted(scene, options) {
    const scores = rowOf(scene.serverTensor('scores'), scene.row);
    const [before, after] = [softmax(scores), softmax(scores.map((each) => each + 5))];
    const apart = Math.max(...before.map((each, place) => Math.abs(each - after[place])));
    const largest = Math.max(...after) - Math.max(...before);
    return phraseOptions(scene, options, apart < 10 * EQUAL_TOLERANCE ? 'nothing' : largest > 0 ? 'grow' : 'even', {});
  },

  /** How many neurons of the feed-forward network are above zero. */
  awake(scene, options) {
    const hidden = rowOf(scene.tensorByName('feed_forward.hidden'), scene.row);
    const share = hidden.reduce((count, each) => count + (each > 0 ? 1 : 0), 0) / hidden.length;
    if ([MOST, SOME].some((edge) => Math.abs(share - edge) < 0.02)) return null;
    return phraseOptions(scene, options, share > MOST ? 'most' : share > SOME ? 'some' : 'few', {});
  },

  /** Which half of the decoder's map is empty. */
  later(scene, options) {
    const { rows, columns, numbers } = scene.tensorByName('weights');
    const half = (inside) =>
      numbers.reduce((all, each, place) => all + (inside(Math.floor(place / columns), place % columns) ? each : 0), 0);
    const sums = {
      upper: half((row, column) => column > row),
      lower: half((row, column) => column < row),
      diagonal: half((row, column) => row === column),
    };
    if (rows < 2 || scene.part !== 0) return phraseOptions(scene, options, 'upper', {});
    return phraseOptions(
      scene,
      options,
      options.reduce((least, each) => (sums[each] < sums[least] ? each : least)),
      {},
    );
  },

  /** The key that the row attends to most. */
  strongest(scene) {
    const weights = rowOf(scene.tensorByName('weights'), scene.row);
    const best = argMax(weights);
    const ranked = [...weights].sort((one, other) => other - one);
    if (ranked.length < 2 || ranked[0] - ranked[1] < MIN_MARGIN) return null;
    const options = scene.columns.map(({ label }) => label);
    return {
      options,
      after: options.map((label, place) => `${label} ${formatSigned(weights[place], 2)}`),
      right: best,
      values: { key: options[best], weight: formatSigned(weights[best]) },
    };
  },

  /** The token that comes next. */
  next(scene) {
    const { best, log_sum: logSum } = scene.logits;
    const chances = best.map(([, , logit]) => Math.exp(logit - logSum));
    if (chances[0] - chances[1] < MIN_MARGIN) return null;
    const shown = best.slice(0, 4);
    const order = [...shown.keys()].sort((one, other) => shown[one][1] - shown[other][1]); // by id, which tells nothing
    const options = order.map((place) => shown[place][0]);
    const [first, second] = [0, 1].map((place) => ({ label: shown[place][0], chance: formatSigned(chances[place]) }));
    const values = { first: first.label, first_chance: first.chance, second: second.label, second_chance: second.chance };
    return { options, right: order.indexOf(0), values };
  },
};

/** Options in words. */
function phraseOptions({ step }, options, right, values) {
  const names = options.map((option) => t(`lesson_${step.lesson}_${step.name}_option_${option}`));
  return { options: names, right: options.indexOf(right), values };
}

/** A question with its answers. `given`: the chosen option; −1: revealed without a guess. */
export class Question {
  constructor(choose) {
    this.choose = choose;
    this.says = make('p', { class: 'asks' });
    this.options = make('div', { class: 'options' });
    this.answer = make('div', { class: 'answer', 'aria-live': 'polite' });
    this.element = make('section', { class: 'lesson-ask', hidden: true }, this.says, this.options, this.answer);
  }

  /** `told`: what `questionOf` says; `asks`: nothing is shown without a guess. */
  draw(base, told, { given, asks }, values) {
    this.element.hidden = !told;
    if (!told) return;
    const all = { ...values, ...told.values };
    const bold = Object.fromEntries(Object.entries(all).map(([name, text]) => [name, make('b', {}, make('bdi', {}, String(text)))]));
    const focused = this.options.contains(document.activeElement);
    replace(this.says, ...fillElements(t(`${base}_ask`), bold));
    const open = given === undefined;
    const buttons = told.options.map((text, place) => {
      const result = open ? '' : place === told.right ? ' right' : place === given ? ' wrong' : '';
      const about = {
        type: 'button',
        class: `option${result}`,
        disabled: !open,
        onclick: () => this.recordGuess(base, place, place === told.right),
      };
      return make('button', about, make('bdi', {}, open ? text : (told.after?.[place] ?? text)));
    });
    replace(this.options, ...buttons);
    if (open) {
      const show = () => make('button', { type: 'button', class: 'link', onclick: () => this.choose(-1) }, t('lesson_just_show'));
      replace(this.answer, asks ? make('span', { class: 'quiet' }, t('lesson_asks_says')) : show());
      return;
    }
    const verdict = given < 0 ? null : make('b', {}, t(given === told.right ? 'lesson_right' : 'lesson_wrong'));
    const parts = Object.fromEntries(Object.entries(all).map(([name, text]) => [name, make('b', {}, make('bdi', {}, String(text)))]));
    replace(this.answer, verdict, ' ', ...fillElements(t(`${base}_answer`), parts));
    if (focused) {
      this.answer.tabIndex = -1;
      this.answer.focus({ preventScroll: true }); // the pressed button was replaced
    }
  }

  recordGuess(base, place, isRight) {
    recordGuess(base, isRight);
    this.choose(place);
  }
}
