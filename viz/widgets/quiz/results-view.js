// The results: each question of both forms with the reader's answer, the right one, and the reason why an answer is wrong.

import { make, replace } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { formatNumber } from '../parts/sums.js';
import { filledGrid, labelText, questionText, tables, valueTexts } from './question-parts.js';
import { STAGES } from './quiz-progress.js';

export class ResultsView {
  constructor(back) {
    this.back = make('button', { type: 'button', class: 'link', onclick: back });
    this.title = make('h2', { class: 'view-title', tabindex: '-1' });
    this.lead = make('p', { class: 'lead' });
    this.items = make('div', {});
    this.element = make(
      'section',
      { class: 'quiz-results' },
      make('p', { class: 'quiz-where' }, this.back),
      this.title,
      this.lead,
      this.items,
    );
  }

  draw(bank, progress) {
    this.back.textContent = t('quiz_back');
    this.title.textContent = t('quiz_results');
    const [before, after] = ['before', 'after'].map((stage) => progress.countRight(stage));
    this.lead.textContent = t('quiz_results_says', { before, after, all: bank.items.length });
    replace(this.items, ...bank.items.map((item) => itemResult(item, bank, progress)));
  }
}

function itemResult(item, bank, progress) {
  const stages = STAGES.filter((stage) => item in progress.answers(stage));
  const answers = stages.map((stage) => {
    const question = bank.forms[progress.form(stage)][item];
    return stageResult(stage, item, question, progress.answers(stage)[item], bank.glosses);
  });
  return make('section', { data: { item } }, make('h3', {}, t(`quiz_name_${item}`)), ...answers);
}

function stageResult(stage, item, question, { outcome, entry = null }, glosses) {
  const isRight = outcome === 'right';
  const name = make('b', {}, t(`quiz_stage_${stage}`));
  const verdict = isRight ? 'right' : entry === null ? 'unknown' : 'wrong';
  const verdictElement = make('span', { class: `verdict ${verdict}` }, t(`quiz_mark_${verdict}`));
  const reason = outcomeReason(item, outcome, question);
  const summary = make('summary', {}, name, verdictElement, make('span', { class: 'reason' }, isRight ? '' : reason));
  const text = make('p', {}, ...questionText(item, question));
  const ownElement = entry === null ? null : answerElement(question, entry, 'quiz_your_answer', glosses);
  const rightAnswer = question.outcomes[0].answer;
  const rightElement = answerElement(question, rightAnswer, 'quiz_key', glosses);
  const reasonElement = make('p', { class: 'reason' }, outcomeReason(item, 'right', question));
  const pair = make('div', { class: 'quiz-both' }, isRight ? null : ownElement, rightElement);
  return make('details', {}, summary, text, ...tables(question, glosses), pair, reasonElement);
}

/** The reason why an answer is right or wrong; empty if the mistake is not a known one. */
export function outcomeReason(item, outcome, question) {
  const isKnown = question.outcomes.some(({ name }) => name === outcome);
  return isKnown ? t(`quiz_why_${item}_${outcome}`, valueTexts(question)) : '';
}

/** An answer with its caption; marked cells are shown as a grid. */
function answerElement(question, answer, caption, glosses) {
  const name = make('small', {}, t(caption));
  if (question.kind !== 'cells') return make('p', { class: 'quiz-given' }, name, make('span', {}, answerText(question, answer)));
  return make('div', { class: 'quiz-given' }, name, filledGrid(question, answer, glosses));
}

/** An answer in one line. */
export function answerText({ kind, labels }, answer) {
  if (kind === 'choice') return labelText(answer);
  const numbers = answer.map((number) => (typeof number === 'number' ? formatNumber(number) : number));
  return labels.length > 1 ? labels.map((label, index) => `${labelText(label)} ${numbers[index]}`).join(' · ') : numbers[0];
}
