// Default title of a view.

import { state } from '../core/state.js';
import { shownHead } from '../core/store.js';
import { hasPhrase, t } from '../core/i18n.js';
import { headName } from '../parts/head-names.js';

/** The title of the current view. */
export function makeDefaultTitle() {
  if (state.tab === 'learn' && state.lesson) return formatLessonTitle(state.lesson);
  if (state.tab !== 'heads') return t(`tab_${state.tab}`);
  const { layer, head } = shownHead(state);
  return `${t(`kind_${state.kind}`)} · ${headName(layer, head)}`;
}

/** Title of a step, preferably the variant that does not reveal the answer. */
function formatLessonTitle(choice) {
  const [lesson, step] = choice.split('.');
  const name = hasPhrase(`lesson_${lesson}_name`) ? t(`lesson_${lesson}_name`) : t('tab_learn');
  const title = [`lesson_${lesson}_${step}_title_open`, `lesson_${lesson}_${step}_title`].find(hasPhrase);
  return title ? `${name} · ${t(title)}` : name;
}
