// Names of the two words that no sentence has: start and end.

import { t } from '../core/i18n.js';

/** "start" and "end" in the page's language; other words as they are. */
export const wordName = (word) => (word === 'start' || word === 'end' ? t(`build_${word}`) : word);
