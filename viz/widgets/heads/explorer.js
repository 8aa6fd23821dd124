// The Heads tab: kinds, wall, one head large, comparison. It gets the numbers once; no click asks the server.

import { make, narrow } from '../core/dom.js';
import { ready } from '../core/page.js';
import { on, page, set, state } from '../core/state.js';
import { mount as mountHeadView } from '../headview/headview.js';
import { listenToKeys } from '../headview/keys.js';
import { TranslationMaps } from '../headview/translationmaps.js';
import { Chips } from './chips.js';
import { Colouring } from './colouring.js';
import { Explain } from './explain.js';
import { mountExportMenu } from './exportmenu.js';
import { Finder } from './finder.js';
import { HeadTable } from './headtable.js';
import { OwnFile } from './ownfile.js';
import { mountTools } from '../parts/tools.js';
import { Player } from './player.js';
import { printSheets } from './sheet.js';
import { Writing } from './writing.js';

const PARTS = ['kinds', 'wall', 'hints', 'list', 'sums', 'pin', 'forms', 'sentence', 'strips', 'legend', 'written'];
const NOTED = [
  'translation',
  'kind',
  'layer',
  'head',
  'pinned',
  'words',
  'special',
  'rescale',
  'scale',
  'palette',
  'fit',
  'measure',
  'theme',
];

/** @param {{ element: HTMLElement, server?: any }} given a saved page has no server */
export async function mount({ element, server }) {
  await ready;
  if (narrow()) set({ fit: false }); // on a phone the whole map of a long sentence would have cells of two pixels
  element.classList.add('explorer');
  element.tabIndex = -1;
  const open = () => state.tab === 'heads' && Boolean(state.translation);
  let maps = null;
  const source = () => {
    if (maps?.translation !== state.translation) maps = state.translation && new TranslationMaps(state.translation);
    return maps;
  };
  const view = mountHeadView(element, {
    ...{ store: page, source, open, parts: PARTS, forms: ['matrix', 'lines', 'numbers'], redraws: ['translation', 'tab'] },
  });
  const [tools, note] = [make('div', {}), make('p', {})];
  const drawTools = mountTools(tools, note);
  const exportMenu = mountExportMenu(server);
  const player = new Player(open);
  const writing = new Writing((speed) => player.pace(speed));
  const colouring = server && new Colouring(view); // a saved page shows its maps alone
  const chips = server && new Chips(view, open);
  const table = server && new HeadTable(view);
  const finder = server && new Finder(server, view);
  const explain = server && new Explain(server, view);
  const own = server && new OwnFile();
  const parts = [colouring, chips, explain, table, finder, own].filter(Boolean);
  if (server) {
    view.wallElement.append(colouring.element, chips.element);
    element.append(explain.element, table.element, finder.element, own.element);
  }
  view.end.before(player.element);
  view.show.append(writing.element, tools, note, view.hints);
  view.end.append(exportMenu.element);
  printSheets(open);
  listenToKeys(() => (open() && !own?.inUse() ? view : null));
  const draw = () => {
    if (!open()) return;
    exportMenu.draw();
    drawTools(view.view);
    for (const part of parts) part.draw();
  };
  on([...NOTED, 'tab', 'language'], draw);
  on(['busy'], () => element.classList.toggle('busy', state.busy));
  draw();
}
