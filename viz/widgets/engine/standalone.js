// The page with one answer as a file: `viz/export/standalone.py` writes its template.

import { tables } from './tables.js';

/** JSON for a script element, escaped so that it cannot end the script or begin a comment. */
function scriptJson(values) {
  const escapes = { '<': '\\u003c', '>': '\\u003e', '&': '\\u0026' };
  return JSON.stringify(values).replace(/[<>&]/g, (letter) => escapes[letter]);
}

/** The page of an answer with a selection. */
export async function standalonePage(engine, answer, { selection, language }) {
  const { file, version } = engine.standalone;
  const template = new TextDecoder().decode(await engine.loader.fetchFile(answer.model.name, file, () => {}));
  const title = tables.figures.phrases[language].title_offline;
  const values = { language, title, data: scriptJson({ answer, selection, language, version }) };
  return Object.entries(values).reduce((page, [name, value]) => page.replace(`{{${name}}}`, () => value), template);
}
