// Default title of a view.

import { state } from '../core/state.js';
import { shown } from '../core/store.js';
import { has, t } from '../core/words.js';
import { headName } from '../parts/naming.js';

/** The title of the current view. */
export function titleNow() {
  if (state.tab === 'learn' && state.lesson) return lessonTitle(state.lesson);
  if (state.tab !== 'heads') return t(`tab_${state.tab}`);
  const { layer, head } = shown(state);
  return `${t(`kind_${state.kind}`)} · ${headName(layer, head)}`;
}

/** A step's title; while its question is open, the one that says less. */
function lessonTitle(choice) {
  const [lesson, step] = choice.split('.');
  const name = has(`lesson_${lesson}_name`) ? t(`lesson_${lesson}_name`) : t('tab_learn');
  const title = [`lesson_${lesson}_${step}_title_open`, `lesson_${lesson}_${step}_title`].find(has);
  return title ? `${name} · ${t(title)}` : name;
}
