// Loads the modules, phrases and styles of the lessons when the tab is first opened.

import { loadLazy } from '../core/boot.js';
import { make } from '../core/dom.js';
import { ready } from '../core/page.js';
import { on, state } from '../core/state.js';
import { t } from '../core/i18n.js';

/** @param {import('../core/server.js').Mounted} mounted */
export async function mount({ element, server }) {
  await ready;
  const error = make('p', { class: 'error', role: 'alert' });
  const loading = make('p', { class: 'quiet', role: 'status' });
  let isRequested = false;
  element.append(loading, error);
  const open = async () => {
    if (state.tab !== 'learn' || isRequested) return;
    isRequested = true;
    element.setAttribute('aria-busy', 'true');
    error.textContent = '';
    loading.textContent = t('learn_loading');
    try {
      const { mount: mountLessons } = await loadLazy('lessons/lesson-player.js');
      const pages = await Promise.all(['build/build-lesson.js', 'quiz/quiz.js'].map((page) => loadLazy(page)));
      await mountLessons(element, server, pages);
    } catch (loadError) {
      isRequested = false;
      error.textContent = t('error_unreachable');
      console.warn(loadError);
    } finally {
      loading.textContent = '';
      element.removeAttribute('aria-busy');
    }
  };
  on(['tab'], open);
  open();
}
