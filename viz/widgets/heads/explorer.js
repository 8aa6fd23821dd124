// The Heads tab: kinds, wall, one head large, comparison. It gets the numbers once; no click asks the server.

import { make, narrow } from '../core/dom.js';
import { ready } from '../core/page.js';
import { on, page, set, state } from '../core/state.js';
import { mount as mountHeadView } from '../headview/headview.js';
import { listenToKeys } from '../headview/keys.js';
import { TranslationMaps } from '../headview/translationmaps.js';
import { mountTakeAway } from './takeaway.js';
import { mountTools } from './tools.js';

const PARTS = ['kinds', 'wall', 'hints', 'list', 'pin', 'forms', 'strips', 'readout', 'sums', 'legend'];
const NOTED = ['answer', 'kind', 'layer', 'head', 'pinned', 'words', 'special', 'rescale', 'scale', 'palette', 'fit'];

export async function mount({ element, server }) {
  await ready;
  if (narrow()) set({ fit: false }); // on a phone the whole map of a long sentence would have cells of two pixels
  element.classList.add('explorer');
  element.tabIndex = -1;
  const open = () => state.tab === 'heads' && Boolean(state.answer);
  let maps = null;
  const source = () => {
    if (maps?.answer !== state.answer) maps = state.answer && new TranslationMaps(state.answer);
    return maps;
  };
  const view = mountHeadView(element, {
    ...{ store: page, source, open, parts: PARTS, forms: ['matrix', 'lines', 'numbers'], redraws: ['answer', 'tab'] },
  });
  const [tools, note] = [make('div', {}), make('p', {})];
  const drawTools = mountTools(tools, note);
  const takeAway = mountTakeAway(server);
  view.show.append(tools, note);
  view.end.append(takeAway.element);
  listenToKeys(() => (open() ? view : null));
  const draw = () => {
    if (!open()) return;
    takeAway.draw();
    drawTools(view.view);
  };
  on([...NOTED, 'tab', 'language'], draw);
  on(['busy'], () => element.classList.toggle('busy', state.busy));
  draw();
}
