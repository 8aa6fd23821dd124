// The See view: kinds, wall, selected head, comparison and questions. Numbers are loaded once; only open questions send requests.

import { make, isNarrow } from '../core/dom.js';
import { isEmbedded } from '../core/embed.js';
import { ready } from '../core/page.js';
import { on, pageStore, set, state } from '../core/state.js';
import { getWordPosition } from '../core/written-word.js';
import { t } from '../core/i18n.js';
import { mount as mountHeadView } from '../headview/head-view.js';
import { createDefaultActions } from '../headview/default-actions.js';
import { mountKeyboard } from '../headview/keyboard.js';
import { TranslationSource } from '../headview/translation-source.js';
import { EffectMaps, EffectSource } from './effect-maps.js';
import { RoleChips } from './role-chips.js';
import { MeasureWall } from './measure-wall.js';
import { HeadExplanation } from './head-explanation.js';
import { mountExportMenu } from './export-menu.js';
import { AlignmentFinder } from './alignment-finder.js';
import { HeadTable } from './head-table.js';
import { mountDisplayOptions } from '../parts/display-options.js';
import { Player } from './player.js';
import { printSheets } from './worksheet.js';
import { desk, formMounted } from '../parts/desk.js';
import { CandidatePanel } from './candidates.js';
import { deskStrips, mountDeskPointer } from './desk-pointer.js';
import { HeadNeeded } from './head-needed.js';
import { LinkHeads } from './link-heads.js';
import { Ribbons } from './ribbons.js';
import { WordEffects } from './word-effects.js';
import { WeightComputed } from './weight-computed.js';

const VIEW_PARTS = ['kinds', 'wall', 'hints', 'list', 'sums', 'pin', 'viewModes', 'sentence', 'strips', 'legend', 'written'];
const OBSERVED_FIELDS = [
  'translation',
  'kind',
  'layer',
  'head',
  'pinned',
  'words',
  'special',
  'rescale',
  'averages',
  'scale',
  'palette',
  'fit',
  'measure',
  'role',
  'theme',
  'word',
  'rival',
];

const VIEW_MODES = ['matrix', 'effect', 'lines', 'numbers'];

/** Pin actions that also store the clicked target word, so that it stays chosen in the encoder, where it has no row. */
function makePinActions() {
  const { onPin, clearPins } = createDefaultActions(pageStore);
  return {
    onPin: (row, column) => {
      onPin(row, column);
      if (state.kind !== 'encoder') set({ word: getWordPosition(state.translation, { ...state, word: null }) });
    },
    clearPins: () => {
      clearPins();
      set({ word: null });
    },
  };
}

/** Replaces the maximum over heads by their sum, because effects have no maximum. */
function excludeMaximum({ head, pinned }) {
  const toSum = (choice) => (choice === 'max' ? 'mean' : choice);
  return { head: toSum(head), ...(pinned?.head === 'max' ? { pinned: { ...pinned, head: 'mean' } } : {}) };
}

const getElements = (...parts) => parts.filter(Boolean).map(({ element }) => element);

/** @param {{ element: HTMLElement, server?: import('../core/server.js').Server }} mounted a saved page has no server */
export async function mount({ element, server }) {
  await ready;
  if (server) await formMounted; // its elements contain the headline, the ribbons and the player
  if (isNarrow()) set({ fit: false }); // on a phone, maps of long sentences would have cells of two pixels
  element.classList.add('explorer');
  element.tabIndex = -1;
  const isVisible = () => state.tab === 'heads' && Boolean(state.translation);
  let maps = null;
  const effects = server?.map_effects && new EffectMaps(server, () => redrawAll());
  const newSource = (translation) => (effects ? new EffectSource(translation, effects) : new TranslationSource(translation));
  const source = () => {
    if (maps?.translation !== state.translation) maps = state.translation && newSource(state.translation);
    return maps;
  };
  /** @type {Ribbons | null} */
  let ribbons = null;
  const onDesk = Boolean(desk().root) && !isEmbedded();
  const hosts = onDesk ? { sentence: desk().headline, strips: deskStrips } : {};
  if (onDesk) element.classList.add('see', 'columns');
  const view = mountHeadView(element, {
    ...{
      store: pageStore,
      source,
      isVisible,
      parts: VIEW_PARTS,
      hosts,
      viewModes: VIEW_MODES.filter((viewMode) => effects || viewMode !== 'effect'),
      redraws: ['translation', 'tab'],
      callbacks: makePinActions(),
    },
    shortKinds: () => onDesk,
  });
  const [tools, note] = [make('div', {}), make('p', {})];
  const drawTools = mountDisplayOptions(tools, note);
  const exportMenu = mountExportMenu(server);
  const player = new Player(isVisible);
  const writing = new CandidatePanel((speed) => player.setSpeed(speed));
  const colouring = new MeasureWall(view);
  const chips = server && new RoleChips(view, isVisible);
  const links = new LinkHeads(view);
  const questions = [
    server?.changed_translation && new HeadNeeded(server, view),
    server?.strongest_effects && new WordEffects(server, view, () => draw()),
    server?.explain_row && new WeightComputed(server, view),
  ].filter(Boolean);
  const table = new HeadTable(view);
  const explain = server?.corpus_roles && new HeadExplanation(server, view);
  const finder = server?.count_links && new AlignmentFinder(server, view, () => explain.open());
  if (effects) view.maps.element.before(effects.element);
  const parts = [colouring, links, ...questions, chips, explain, table, finder].filter(Boolean);
  // A saved page contains the measures, but the other parts need a server.
  view.wallElement.append(links.element);
  const twoModels = make('button', { type: 'button', class: 'link two-models', onclick: () => set({ tab: 'beside' }) });
  const twoModelsLink = server && document.getElementById('panel-beside') ? twoModels : null;
  view.element.append(make('div', { class: 'ask' }, ...getElements(...questions), twoModelsLink ?? '', writing.element));
  element.append(...getElements(explain, table, finder));
  view.show.append(make('div', {}, ...getElements(colouring, chips)), make('div', {}, tools, note, view.hints));
  view.end.append(exportMenu.element);
  if (onDesk) {
    view.wallElement.prepend(view.kindsElement);
    desk().player.append(player.element);
    mountDeskPointer(view, isVisible);
    ribbons = new Ribbons(view);
    const onlyHeadChanged = (names) => names.every((name) => ['layer', 'head', 'preview', 'pinned'].includes(name));
    on([...OBSERVED_FIELDS, 'tab', 'language', 'row', 'column', 'hoverRow', 'hoverColumn', 'preview'], (names) => {
      if (isVisible()) onlyHeadChanged(names) ? ribbons.redraw() : ribbons.draw();
    });
    desk().sentences.source?.addEventListener('headlight-words', () => {
      if (!isVisible()) return;
      view.highlight();
      ribbons.draw();
    });
  } else view.end.before(player.element);
  printSheets(isVisible);
  mountKeyboard(() => (isVisible() ? view : null));
  const draw = () => {
    if (!isVisible()) return;
    exportMenu.draw();
    twoModels.textContent = t('see_two_models');
    drawTools(view.view);
    for (const part of parts) part.draw();
  };
  on([...OBSERVED_FIELDS, 'tab', 'language', 'row', 'column'], draw);
  const redrawAll = () => {
    view.draw();
    draw();
    if (isVisible()) ribbons?.draw();
  };
  let effectMode = ''; // key of the displayed effects' target
  const drawEffects = () => {
    if (!isVisible()) return;
    if (effects && state.view === 'effect') set(excludeMaximum(state));
    effects?.draw();
    const { place, rival } = effects?.query ?? {};
    const mode = state.view === 'effect' ? `effect ${state.lead} ${place} ${rival}` : '';
    if (effectMode === mode) return;
    effectMode = mode;
    redrawAll(); // the wall's colours change
  };
  on(['view', 'kind', 'lead', 'word', 'rival', 'head', 'pinned', 'translation', 'tab'], drawEffects);
  on(['row', 'layer', 'words', 'special', 'language'], () => isVisible() && effects?.draw());
  on(['busy'], () => element.classList.toggle('busy', state.busy));
  draw();
  drawEffects();
}
