// The call of the export menu: one map as CSV or picture, all heads as a picture, all maps as NPZ or JSON, the page as HTML.
// `viz/export/files.py` and `pictures.py` are the reference.

import { encodeBytes } from './array-encoding.js';
import { effectMap, effectWord, showsEffects, weightMap } from './attention-map.js';
import { KINDS } from './effects.js';
import { allJson, allNpz, comparisonCsv, mapCsv } from './export-data.js';
import { drawLines } from './figure-lines.js';
import { drawComparison, drawHeatmap } from './figure-maps.js';
import { drawOverview } from './figure-overview.js';
import { addTitleLines, fill } from './figure-text.js';
import { makeVisible, wordLabel } from './labels.js';
import { standalonePage } from './standalone.js';
import { tables } from './tables.js';
import { checkChoice, isNone, loadTranslation } from './word-query.js';

const MAX_TEXT = 400; // characters of a sentence; with a longer one, the figure would be mostly title
const FORMS = ['csv', 'npz', 'json', 'html', 'png', 'svg', 'wall_png', 'wall_svg'];
const WALL = 'wall_'; // prefix of the forms with all heads

/** The selection of head A if two heads are compared, else null. */
function pinnedSelection(selection) {
  if (isNone(selection.pinned)) return null;
  const [layer, head] = selection.pinned;
  return layer === selection.layer && head === selection.head ? null : { ...selection, layer, head };
}

/** A name with the kind, layer and head, counted from one: `headlight-cross-1-4.csv`. */
export function fileName(selection, form) {
  const { kind, view } = selection;
  if (form.startsWith(WALL)) return `headlight-${kind}-all.${form.slice(WALL.length)}`;
  if (!['csv', 'png', 'svg'].includes(form)) return `headlight.${form}`;
  const number = (index) => (typeof index === 'number' ? index + 1 : index);
  const other = pinnedSelection(selection);
  const names = [...(other ? [other] : []), selection].map(({ layer, head }) => `${number(layer)}-${number(head)}`);
  const word = effectWord(selection);
  const effects = `-effects${word === null ? '' : `-on-word-${word + 1}`}${selection.lead ? '-on-lead' : ''}`;
  const ending = showsEffects(selection) ? effects : view === 'lines' && form !== 'csv' ? '-lines' : '';
  return `headlight-${kind}-${names.join('-and-')}${ending}.${form}`;
}

/** The sentence on the subject of a picture's effects: a word, its lead, or all words. */
function effectSentence({ translation, model }, selection, phrases) {
  const position = effectWord(selection);
  const subject = position !== null ? 'word' : selection.kind === 'encoder' ? 'encoder' : 'row';
  const text = phrases[`export_effect_on_${subject}${selection.lead ? '_lead' : ''}`];
  if (position === null) return text;
  const token = translation.target[position];
  const chosen = selection.lead && selection.rival?.[0] === position ? selection.rival[1] : null;
  const likeliest = () => token.alternatives.find(([, id]) => id !== token.id)?.[1] ?? Number(token.id === 0);
  const rival = model.targetTokenizer.label(chosen ?? likeliest());
  return fill(text, { word: makeVisible(token.text.trim()), rival: wordLabel(rival.trim()) });
}

function shorten(text) {
  const visible = Array.from(makeVisible(text.split(/\s+/).filter(Boolean).join(' ')));
  return visible.length <= MAX_TEXT ? visible.join('') : `${visible.slice(0, MAX_TEXT - 1).join('')}…`;
}

/** The figure of the selection with its captions. `maps`: head A of a comparison or null, and the selected map. */
function drawPicture(query, { form, selection, theme: themeName, language }, maps) {
  const [first, second] = maps;
  const { translation } = query;
  const { themes, phrases: all, words } = tables.figures;
  const [theme, phrases] = [themes[themeName], all[language]];
  const style = { theme, palette: selection.palette };
  const wordsFor = (name) => words[language][name];
  const draw = () => {
    if (form.startsWith(WALL)) return drawOverview(translation, second, { ...style, words: wordsFor('overview') });
    if (selection.view === 'lines') {
      const coloured = first
        ? [
            [first, theme.head_a],
            [second, theme.head_b],
          ]
        : [[second, theme.accent]];
      return drawLines(/** @type {any} */ (coloured), { theme, words: wordsFor('lines'), threshold: selection.threshold });
    }
    if (showsEffects(selection)) {
      const effects = effectSentence(query, selection, phrases);
      return drawHeatmap(second, { ...style, words: wordsFor('heatmap'), scale: 'effect', effects });
    }
    if (first) return drawComparison(first, second, { ...style, words: wordsFor('compare') });
    return drawHeatmap(second, { ...style, words: wordsFor('heatmap'), scale: selection.scale });
  };
  const figure = draw();
  addTitleLines(figure, phrases[`kind_${selection.kind}`], [
    fill(phrases.picture_source, { text: shorten(translation.sourceText) }),
    fill(phrases.picture_translation, { text: shorten(translation.text), model: makeVisible(query.entry.name) }),
  ]);
  return figure;
}

/** Head A of a comparison or null, and the selected map: weights, or effects in nats. Null if it was stopped. */
async function selectedMaps(engine, request, { translation }, selection, control) {
  const selections = [pinnedSelection(selection), selection];
  const maps = [];
  for (const each of selections) {
    const map = each && (showsEffects(each) ? await effectMap(engine, request, translation, each, control) : weightMap(translation, each));
    if (each && !map) return null;
    maps.push(map);
  }
  return maps;
}

/** Call: a file as base64, or a figure that the page saves as a picture. */
export async function exportFile(engine, values, control) {
  const { form, request, selection, theme, language } = values;
  checkChoice('form', form, FORMS);
  checkChoice('theme', theme, Object.keys(tables.figures.themes));
  checkChoice('language', language, Object.keys(tables.figures.words));
  checkChoice('kind', selection.kind, KINDS);
  const query = await loadTranslation(engine, values, control);
  if (!query) return null;
  const { translation, entry } = query;
  const name = fileName(selection, form);
  const asFile = (bytes) => ({ name, content: encodeBytes(bytes) });
  const encode = (text) => asFile(new TextEncoder().encode(text));
  if (form === 'npz') return asFile(await allNpz(translation));
  if (form === 'json') return encode(allJson(translation));
  if (form === 'html') return encode(await standalonePage(engine, await engine.answer(entry, translation), { selection, language }));
  const plain = form.startsWith(WALL) ? { ...selection, view: 'matrix', words: false, special: true, pinned: null } : selection;
  const maps = await selectedMaps(engine, request, query, plain, control);
  if (!maps) return null;
  const [first, second] = maps;
  if (form === 'csv') return encode(first ? comparisonCsv(first, second) : mapCsv(second));
  return { name, figure: drawPicture(query, values, maps) };
}
