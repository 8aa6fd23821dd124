// A table of the words that the decoder reads and has to write, with the loss at each position.

import { make } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { wordName } from './word-name.js';
import { formatNumber } from '../parts/sums.js';

/** `isSolved`: whether the reader has calculated the probability of the predicted row; until then it is hidden. */
export function lossLines(data, isSolved) {
  const line = (name, texts, tag = 'td') => make('tr', {}, make('th', { scope: 'row' }, name), ...texts.map((text) => make(tag, {}, text)));
  const isHidden = (position) => position === data.answer.written_row && !isSolved;
  const numbers = (name) => data.printed(name).map((number, position) => (isHidden(position) ? '?' : formatNumber(number)));
  const table = make(
    'table',
    { class: 'loss-lines' },
    make(
      'tbody',
      {},
      line(t('build_reads'), data.readWords.map(wordName)),
      line(t('build_writes'), data.writtenWords.map(wordName)),
      line('p', numbers('next.right')),
      line('−ln p', numbers('next.losses')),
    ),
  );
  const mean = t('build_loss_mean', { count: data.readWords.length, loss: formatNumber(data.printed('next.loss')) });
  return make('div', { class: 'loss-of-places', role: 'group', tabindex: '0', 'aria-label': t('build_reads') }, table, make('p', {}, mean));
}
