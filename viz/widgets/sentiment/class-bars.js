// Class names, predictions and probabilities, and the selected class for word contributions.

import { make, replace } from '../core/dom.js';
import { fourDecimals, threeDecimals } from '../core/map-view.js';
import { hasPhrase, t } from '../core/i18n.js';

const MAX_LISTED_CLASSES = 8; // most probable classes; further classes are collapsed
const MAX_NAMED_CLASSES = 3; // with more predicted classes, the verdict shows only their number

/** The translated name of a class, or the model's own name if it has no translation. */
export const className = (name) => (hasPhrase(`sentiment_class_${name.toLowerCase()}`) ? t(`sentiment_class_${name.toLowerCase()}`) : name);

/** Whether the classifier is binary, so that evidence for one class is evidence against the other. */
export const isPair = ({ classes, exclusive }) => exclusive && classes.length === 2;

/** "toward positive", "away from joy": direction of a word. For two classes, each direction names a class. */
export function directionName(review, classIndex, sign) {
  const name = review.classes[isPair(review) && sign < 0 ? 1 - classIndex : classIndex];
  if (!isPair(review) && sign < 0) return t('sentiment_away', { name: className(name) });
  const key = `sentiment_toward_${name.toLowerCase()}`;
  return hasPhrase(key) ? t(key) : t('sentiment_toward', { name: className(name) });
}

/** Indices of the predicted classes: the most probable one if classes are exclusive, else all with p > 0.5. */
export function predictedClasses({ probabilities, exclusive }) {
  const order = orderByProbability(probabilities);
  return exclusive ? order.slice(0, 1) : order.filter((index) => probabilities[index] > 0.5);
}

/** Text of the verdict: the predicted classes, or their number if there are many. */
export function verdictName({ classes }, predicted) {
  if (predicted.length > MAX_NAMED_CLASSES) return t('sentiment_several', { count: predicted.length, all: classes.length });
  return predicted.map((index) => className(classes[index])).join(t('sentiment_and')) || t('sentiment_none');
}

function orderByProbability(probabilities) {
  return probabilities.map((_, index) => index).sort((a, b) => probabilities[b] - probabilities[a] || a - b);
}

/** Initial class for word contributions: the second of two, else the most probable. */
export function defaultClass(review) {
  if (isPair(review)) return 1;
  return orderByProbability(review.probabilities)[0];
}

/** One row per class with its probability. A click on a row shows the word contributions for its class. */
export class ClassBars {
  /** @param {(classIndex: number) => void} choose */
  constructor(choose) {
    this.choose = choose;
    this.description = make('p', { class: 'quiet' });
    this.topRows = make('div', { class: 'class-lines', role: 'group' });
    this.otherRows = make('div', { class: 'class-lines', role: 'group' });
    this.summary = make('summary', {});
    this.others = make('details', {}, this.summary, this.otherRows);
    this.element = make('div', { class: 'classes', hidden: true }, this.topRows, this.others, this.description);
  }

  show(review, classIndex) {
    this.element.hidden = isPair(review);
    if (this.element.hidden) return;
    const order = orderByProbability(review.probabilities);
    const visible = order.filter((index, rank) => rank < MAX_LISTED_CLASSES || index === classIndex);
    const others = order.filter((index) => !visible.includes(index));
    for (const group of [this.topRows, this.otherRows]) group.setAttribute('aria-label', t('sentiment_classes'));
    this.drawKeepingFocus(() => {
      replace(this.topRows, ...visible.map((index) => this.makeRow(review, index, classIndex)));
      replace(this.otherRows, ...others.map((index) => this.makeRow(review, index, classIndex)));
    });
    this.others.hidden = !others.length;
    this.summary.textContent = t('sentiment_other_classes', { count: others.length });
    this.description.textContent = t(review.exclusive ? 'sentiment_classes_says' : 'sentiment_classes_each');
  }

  /** Rebuilds the rows with `draw()` and restores the keyboard focus. */
  drawKeepingFocus(draw) {
    const focused = /** @type {HTMLElement | null} */ (document.activeElement);
    const focusedIndex = this.element.contains(focused) ? focused?.dataset.place : null;
    draw();
    if (focusedIndex != null) this.element.querySelector(`[data-place="${focusedIndex}"]`)?.focus();
  }

  makeRow({ classes, probabilities }, index, selectedClass) {
    const probability = probabilities[index];
    const bar = make('span', { class: 'bar', 'aria-hidden': 'true' }, make('i', { style: `width:${(100 * probability).toFixed(1)}%` }));
    const name = className(classes[index]);
    return make(
      'button',
      { type: 'button', 'aria-pressed': String(index === selectedClass), data: { place: index }, onclick: () => this.choose(index) },
      make('span', { class: 'name', title: name }, name),
      bar,
      make('span', { class: 'numeric', title: fourDecimals(probability) }, threeDecimals(probability)),
    );
  }
}
