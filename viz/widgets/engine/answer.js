// The answer of a translation in the format of the page (`viz/service/messages.py`).

import { tokenLabels } from './labels.js';
import { measureValues } from './measures.js';
import { findLateHeads, chooseOpening } from './opening.js';
import { judgeTranslation, usesBackTranslation } from './reliability.js';
import { requestValues } from './requests.js';
import { headRoles } from './roles.js';
import { encodeWeights } from './weight-encoding.js';

export const ANSWER_VERSION = 2;
const KINDS = /** @type {const} */ (['encoder', 'decoder', 'cross']);

const round = (number, digits) => Math.round(number * 10 ** digits) / 10 ** digits;

/**
 * Tokens with their labels; default values are omitted.
 * @param {import('./translator.js').WrittenToken[]} tokens
 * @returns {import('messages').TokenValues[]}
 */
export function tokenValues(tokens) {
  const labels = tokenLabels(tokens);
  return tokens.map(({ text, id, start, end, word, special, piece, pieces, probability, alternatives = [] }, index) => {
    const { text: label, full, joined } = labels[index];
    return {
      ...{ text, label, id, start, end, word },
      ...(full !== label ? { full } : {}),
      ...(special ? { special } : {}),
      ...(joined ? { joined } : {}),
      ...(pieces > 1 ? { piece, pieces } : {}),
      ...(probability === undefined ? {} : { probability: round(probability, 6), alternatives: alternatives.map(roundChoice) }),
    };
  });
}

const roundChoice = ([text, id, probability]) => /** @type {[string, number, number]} */ ([text, id, round(probability, 6)]);

function encodeMaps(layers, { heads, rows, columns, causal }) {
  return { shape: [layers.length, heads, rows, columns], letters: encodeWeights(layers, { columns, causal }) };
}

/**
 * @param {any} translation from `translate`
 * @param {Pick<import('./loader.js').SiteModel, 'name' | 'answer_model' | 'cross_heads' | 'languages' | 'rule' | 'reverse'>} model
 * @param {(id: number) => string} label
 * @returns {import('messages').Answer}
 */
export function makeAnswer(translation, model, label) {
  const { source, target, maps, heads, request } = translation;
  const [read, written] = [source.length, target.length];
  const roles = Object.fromEntries(KINDS.map((kind) => [kind, headRoles(translation, kind)]));
  const shape = (rows, columns, causal = false) => ({ heads, rows, columns, causal });
  return {
    what: 'answer',
    version: ANSWER_VERSION,
    model: model.answer_model,
    request: requestValues(model.name, request),
    source_text: translation.sourceText,
    text: translation.text,
    source: tokenValues(source),
    target: tokenValues(target),
    start: tokenValues([translation.start])[0],
    attention: {
      encoder: encodeMaps(maps.encoder, shape(read, read)),
      decoder: encodeMaps(maps.decoder, shape(written, written, true)),
      cross: encodeMaps(maps.cross, shape(written, read)),
    },
    roles: /** @type {any} */ (Object.fromEntries(KINDS.map((kind) => [kind, roles[kind].map((layer) => layer.map(roleValues))]))),
    measures: /** @type {any} */ (Object.fromEntries(KINDS.map((kind) => [kind, measureValues(translation, kind)]))),
    opening: chooseOpening(translation, roles.cross, model.cross_heads, model.languages),
    late: findLateHeads(roles.cross, model.cross_heads),
    hypotheses: translation.hypotheses,
    tree: translation.tree.map((node) => [
      ...[node.parent, node.step, node.id, label(node.id)],
      ...[round(node.logProbability, 6), round(node.score, 6), node.outcome],
    ]),
    score: translation.score,
    log_probability: translation.logProbability,
    stopped: translation.stopped,
    reliability: judgeTranslation(translation, model.rule),
    device: 'browser',
    seconds: translation.seconds,
    cached: false,
    hint: null,
    way_back: usesBackTranslation(translation, model.rule) ? model.reverse : '',
    ...(translation.hidden.length ? { hidden: translation.hidden } : {}),
    ...(translation.adaptations.length ? { adaptations: translation.adaptations } : {}),
  };
}

const roleValues = ({ name, share, spread }) => [name, round(share, 4), round(spread, 2)];
