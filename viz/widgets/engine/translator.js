// Translation with one model: search, then one pass over the translation that captures all maps and probabilities.

import { modelChanges } from './interventions.js';
import { Fault } from './fault.js';
import { prepareSource, targetIds, targetLimit } from './requests.js';
import { BeamSearch, SingleSearch, logSoftmax, topIds } from './search.js';

/**
 * @typedef {import('./tokenizer.js').Token & { probability?: number, alternatives?: [string, number, number][] }} WrittenToken
 * @typedef {{ name: string, config: any, transformer: import('./transformer.js').Transformer,
 *   sourceTokenizer: import('./tokenizer.js').Tokenizer, targetTokenizer: import('./tokenizer.js').Tokenizer,
 *   languages: { source: string, target: string } }} Model languages: two letters
 * @typedef {{ isStopped?: () => boolean, pause?: () => Promise<void>,
 *   onToken?: (tokens: WrittenToken[], text: string, isLast?: boolean) => void }} Control `isLast`: before the beam is reranked
 */

const kinds = /** @type {const} */ (['encoder', 'decoder', 'cross']);

/** Maps of other sentences that heads borrow, by sentence. */
export async function borrowedMaps(model, request, limits, control) {
  const maps = new Map();
  for (const { action, text } of request.interventions) {
    if (action !== 'borrow' || maps.has(text)) continue;
    const plain = { ...request, text, target: null, prefix: null, interventions: [] };
    const options = { ...request.options, beam_size: 1, n_best: 1, no_repeat: 0, temperature: 0, max_length: null, length_penalty: 1 };
    const other = await translate(model, { ...plain, options }, limits, { ...control, onToken: undefined });
    if (!other) return null;
    const [read, written] = [other.source.length, other.target.length];
    const sizes = { encoder: [read, read], decoder: [written, written], cross: [written, read] };
    maps.set(
      text,
      Object.fromEntries(kinds.map((kind) => [kind, { layers: other.maps[kind], rows: sizes[kind][0], columns: sizes[kind][1] }])),
    );
  }
  return maps;
}

/** Checks that weights set by hand are within the maps of the source. */
function checkSetWeights({ interventions }, tokens) {
  for (const change of interventions) {
    if (change.action !== 'drag' || change.kind === 'decoder') continue;
    for (const name of change.kind === 'encoder' ? ['row', 'column'] : ['column']) {
      if (change[name] >= tokens)
        throw new Fault('interventions', 'not_whole', { name, low: 0, high: tokens - 1, given: String(change[name]) });
    }
  }
}

/**
 * Translates a checked request. Returns null if it was stopped.
 * @param {Model} model
 * @param {any} request
 * @param {{ tokens: number }} limits
 * @param {Control} [control]
 */
export async function translate(model, request, limits, control = {}) {
  const { config, transformer, sourceTokenizer, targetTokenizer, languages } = model;
  const begin = performance.now();
  const source = prepareSource(request, sourceTokenizer, languages.source);
  const ids = source.tokens.map(({ id }) => id);
  const most = Math.min(limits.tokens, config.max_length);
  if (ids.length > most) throw new Fault('text', 'too_many_tokens', { name: 'text', given: ids.length, limit: most });
  checkSetWeights(request, ids.length);
  const target = targetIds('target', request.target, targetTokenizer, languages.target, most);
  const prefix = targetIds('prefix', request.prefix, targetTokenizer, languages.target, most) ?? [];
  const limit = targetLimit(request.options, ids.length, prefix.length, most);
  const borrowed = await borrowedMaps(model, request, limits, control);
  if (!borrowed) return null;
  const changes = modelChanges(config, request.interventions, borrowed);
  const allowed = source.hidden.length ? Uint8Array.from(ids, (_, index) => (source.hidden.includes(index) ? 0 : 1)) : null;
  const { vectors, maps: encoder } = transformer.encode(ids, allowed, changes);
  const cross = transformer.projectMemory(vectors);
  const forbidden = [config.pad_id, config.start_id].filter((id) => id !== config.end_id);
  const plan = { limit, startId: config.start_id, endId: config.end_id, forbidden, noRepeat: request.options.no_repeat, prefix };
  /** @type {import('./search.js').Step} */
  const step = (hypotheses) => {
    const { states } = transformer.decode(hypotheses, cross, allowed, changes);
    const rows = [];
    transformer.logits(states, (logits) => rows.push(logits.slice()));
    return rows;
  };
  let search = null;
  if (!target) {
    const Search = request.options.beam_size > 1 ? BeamSearch : SingleSearch;
    search = new Search(plan, step, transformer.newCaches(), request.options);
    while (search.advance()) {
      await control.pause?.();
      if (control.isStopped?.()) return null;
      control.onToken?.(progressTokens(targetTokenizer, search.best), targetTokenizer.decode(search.best.ids));
    }
  }
  const candidates = search ? search.results : [{ ids: target ?? [], score: 0, logProbability: 0, ended: false }];
  const captured = capture(model, candidates[0].ids, cross, allowed, changes, request.options.alternatives, forbidden);
  const score = captured.logProbability / candidates[0].ids.length ** request.options.length_penalty;
  const count = request.options.back_weight > 0 ? candidates.length : request.options.n_best; // all, if they will be reranked
  return {
    request,
    source: source.tokens,
    sourceText: source.text,
    hidden: source.hidden,
    adaptations: source.adaptations,
    text: targetTokenizer.decode(candidates[0].ids),
    target: captured.tokens,
    start: startToken(model),
    maps: { encoder, decoder: captured.decoder, cross: captured.cross },
    heads: config.heads,
    score,
    logProbability: captured.logProbability,
    stopped: target ? 'forced' : candidates[0].ended ? 'end' : 'length',
    hypotheses: candidates.slice(0, target ? 1 : count).map((candidate, rank) => ({
      text: targetTokenizer.decode(candidate.ids),
      ids: candidate.ids,
      score: rank ? candidate.score : score,
      log_probability: rank ? candidate.logProbability : captured.logProbability,
      ended: candidate.ended,
      reverse_score: null,
    })),
    tree: search?.tree ?? [],
    seconds: (performance.now() - begin) / 1000,
  };
}

/** @returns {WrittenToken} */
const startToken = ({ config, targetTokenizer }) => ({
  text: targetTokenizer.label(config.start_id),
  id: config.start_id,
  start: 0,
  end: 0,
  word: null,
  special: true,
  piece: 0,
  pieces: 1,
});

/** @returns {WrittenToken[]} */
const progressTokens = (tokenizer, { ids, gains }) =>
  tokenizer.tokens(ids).map((token, index) => ({ ...token, probability: Math.exp(gains[index] ?? 0), alternatives: [] }));

/** One pass over the whole translation: maps, probabilities and alternatives of each token. */
function capture({ config, transformer, targetTokenizer }, ids, cross, allowed, changes, alternatives, forbidden) {
  const inputs = [config.start_id, ...ids.slice(0, -1)];
  const passed = transformer.decode([{ ids: inputs, caches: transformer.newCaches(inputs.length) }], cross, allowed, changes);
  const tokens = targetTokenizer.tokens(ids);
  let logProbability = 0;
  transformer.logits(passed.states, (logits, row) => {
    const logProbabilities = logSoftmax(logits);
    const own = logProbabilities[ids[row]];
    logProbability += own;
    for (const id of forbidden) logProbabilities[id] = -Infinity;
    const best = topIds(logProbabilities, alternatives);
    const choice = (id) => /** @type {[string, number, number]} */ ([targetTokenizer.label(id), id, Math.exp(logProbabilities[id])]);
    tokens[row] = /** @type {any} */ ({ ...tokens[row], probability: Math.exp(own), alternatives: best.map(choice) });
  });
  const only = (layers) => layers.map(([map]) => map);
  return { tokens: /** @type {WrittenToken[]} */ (tokens), logProbability, decoder: only(passed.decoder), cross: only(passed.cross) };
}
