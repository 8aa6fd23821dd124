// The calls about the account of a word, in the format of the server: `viz/tabs/attribution.py`.

import { accountByHead, accountByKey, accountWord, fixedRun } from './account.js';
import { wordLabel } from './labels.js';
import { checkInteger, loadWord } from './word-query.js';

const MAX_RIVALS = 3; // in the menu, by probability

const round = (number, digits) => Math.round(number * 10 ** digits) / 10 ** digits;
const roundAll = (numbers) => numbers.map((number) => round(number, 5));

/** The candidates of a step that were not written, [label, id, probability], by probability. */
const otherCandidates = ({ id, alternatives }) => alternatives.filter(([, other]) => other !== id);

/** The word of a call with a run back from its lead. The default rival is the likeliest. */
async function loadRun(engine, values, control) {
  const query = await loadWord(engine, values, control);
  if (!query) return null;
  const { model, translation, changes, position } = query;
  const token = translation.target[position];
  const rival = query.rival ?? otherCandidates(token)[0]?.[1] ?? Number(token.id === 0);
  const run = await fixedRun(model, translation, changes, { position, rival }, control);
  return run && { ...query, rival, token, run };
}

/** The contribution of each token to the lead of a word over a rival. */
export async function answerAccount(engine, values, control) {
  const query = await loadRun(engine, values, control);
  const account = query && (await accountWord(query.run, control));
  if (!account) return null;
  const { token, rival, model } = query;
  const label = (id) => wordLabel(model.targetTokenizer.label(id));
  const entries = otherCandidates(token).slice(0, MAX_RIVALS);
  return {
    word: label(token.id),
    probability: round(token.probability, 4),
    rival: { id: rival, label: label(rival) },
    rivals: entries.map(([, id, probability]) => ({ id, label: label(id), probability: round(probability, 4) })),
    lead: round(account.lead, 5),
    source: roundAll(account.source),
    prefix: roundAll(account.prefix),
    constants: round(account.constants, 5),
  };
}

/** The contribution of each source token through each head of cross-attention. */
export async function answerAccountHeads(engine, values, control) {
  const query = await loadRun(engine, values, control);
  const heads = query && (await accountByHead(query.run, control));
  return heads && { heads: heads.map((layer) => layer.map(roundAll)) };
}

/** The contribution of each source token through each key of a head of cross-attention. */
export async function answerAccountKeys(engine, values, control) {
  const query = await loadRun(engine, values, control);
  if (!query) return null;
  const { config } = query.model;
  const layer = checkInteger('layer', values.layer, config.decoder_layers - 1);
  const head = checkInteger('head', values.head, config.heads - 1);
  const keys = await accountByKey(query.run, layer, head, control);
  return keys && { keys: keys.map(roundAll) };
}
