// Greedy search, sampling and beam search, one token at a time: the rules of `model/decoding/`.

import { copyCaches } from './caches.js';

/**
 * @typedef {{ ids: number[], score: number, logProbability: number, ended: boolean }} Candidate
 * @typedef {{ parent: number, step: number, id: number, logProbability: number, score: number, outcome: 'kept' | 'finished' | 'dropped' }} SearchNode
 * @typedef {{ ids: number[], logProbability: number, gains: number[], node: number, caches: import('./transformer.js').Cache[] }} Hypothesis
 * @typedef {{ limit: number, startId: number, endId: number, forbidden: number[], noRepeat: number, prefix: number[] }} Plan
 *   `limit`: number of tokens, including the end token; `prefix`: first tokens of the translation
 * @typedef {(hypotheses: { ids: number[], caches: import('./transformer.js').Cache[] }[]) => Float32Array[]} Step logits of each hypothesis
 */

/** Log probabilities of logits, in float32. */
export function logSoftmax(logits) {
  let highest = -Infinity;
  for (let at = 0; at < logits.length; at++) if (logits[at] > highest) highest = logits[at];
  let total = 0;
  for (let at = 0; at < logits.length; at++) total += Math.exp(logits[at] - highest);
  const shift = highest + Math.log(total);
  return logits.map((logit) => logit - shift);
}

/** Writes −∞ into the logits of forbidden tokens. */
function applyRules(logits, ids, { forbidden, noRepeat, prefix }) {
  for (const id of forbidden) logits[id] = -Infinity;
  if (noRepeat && ids.length >= noRepeat) {
    const tail = ids.slice(ids.length - noRepeat + 1).join();
    for (let start = 0; start + noRepeat - 1 < ids.length; start++) {
      if (ids.slice(start, start + noRepeat - 1).join() === tail) logits[ids[start + noRepeat - 1]] = -Infinity;
    }
  }
  if (ids.length < prefix.length) {
    logits.fill(-Infinity);
    logits[prefix[ids.length]] = 0;
  }
}

/** The ids of the `count` highest logits, best first. */
export function topIds(logits, count) {
  const best = [];
  for (let id = 0; id < logits.length; id++) {
    if (best.length === count && !(logits[id] > logits[best[count - 1]])) continue;
    let at = best.length === count ? count - 1 : best.length;
    while (at > 0 && logits[id] > logits[best[at - 1]]) {
      best[at] = best[at - 1];
      at--;
    }
    best[at] = id;
  }
  return best;
}

/** Random numbers from 0 to 1 from a seed (mulberry32). */
function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The index at which the sum of the weights reaches a number, or the last one. */
function firstReaching(weights, number) {
  let sum = 0;
  for (const [index, weight] of weights.entries()) {
    sum += weight;
    if (sum >= number) return index;
  }
  return weights.length - 1;
}

/** A function that chooses a token by temperature, among the top k, and the fewest that reach probability p together. */
function createSampler({ temperature, seed, top_k: topK, top_p: topP }) {
  const random = randomNumbers(seed);
  return (logits) => {
    const ids =
      topK > 0 ? topIds(logits, Math.min(topK, logits.length)) : [...logits.keys()].sort((one, other) => logits[other] - logits[one]);
    const weights = ids.map((id) => Math.exp((logits[id] - logits[ids[0]]) / Math.max(temperature, 1e-30)));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const count = firstReaching(weights, topP * total) + 1;
    const allowed = weights.slice(0, count);
    return ids[firstReaching(allowed, random() * allowed.reduce((sum, weight) => sum + weight, 0))];
  };
}

/** One hypothesis: the likeliest token at each step, or a sampled one. */
export class SingleSearch {
  /**
   * @param {Plan} plan
   * @param {Step} step
   * @param {import('./transformer.js').Cache[]} caches
   * @param {any} options of the request
   */
  constructor(plan, step, caches, options) {
    this.plan = plan;
    this.step = step;
    this.choose = options.temperature > 0 ? createSampler(options) : (logits) => topIds(logits, 1)[0];
    /** @type {Hypothesis} */
    this.best = { ids: [], logProbability: 0, gains: [], node: -1, caches };
    /** @type {Candidate[]} */
    this.results = [];
    /** @type {SearchNode[]} */
    this.tree = [];
  }

  /** Writes one token. Returns false if the translation is complete. */
  advance() {
    if (this.results.length) return false;
    const { ids, caches } = this.best;
    const [logits] = this.step([{ ids: [ids.at(-1) ?? this.plan.startId], caches }]);
    const logProbabilities = logSoftmax(logits);
    applyRules(logits, ids, this.plan);
    const token = this.choose(logits);
    ids.push(token);
    this.best.gains.push(logProbabilities[token]);
    this.best.logProbability += logProbabilities[token];
    const isEnd = token === this.plan.endId;
    if (isEnd || ids.length >= this.plan.limit) {
      this.results = [{ ids, score: this.best.logProbability / ids.length, logProbability: this.best.logProbability, ended: isEnd }];
    }
    return true;
  }
}

/** Several hypotheses, whose best continuations survive. */
export class BeamSearch {
  /**
   * @param {Plan} plan
   * @param {Step} step
   * @param {import('./transformer.js').Cache[]} caches
   * @param {any} options of the request
   */
  constructor(plan, step, caches, options) {
    this.plan = plan;
    this.step = step;
    this.width = options.beam_size;
    this.lengthPenalty = options.length_penalty;
    /** @type {Hypothesis[]} */
    this.rows = [{ ids: [], logProbability: 0, gains: [], node: -1, caches }];
    this.best = this.rows[0];
    /** @type {Candidate[]} */
    this.results = [];
    /** @type {SearchNode[]} */
    this.tree = [];
  }

  /** Extends every hypothesis by one token. Returns false if the search is complete. */
  advance() {
    if (!this.rows.length) return false;
    const reach = 2 * this.width;
    const steps = this.step(this.rows.map(({ ids, caches }) => ({ ids: [ids.at(-1) ?? this.plan.startId], caches })));
    const candidates = steps.flatMap((logits, origin) => {
      const logProbabilities = logSoftmax(logits);
      const row = this.rows[origin];
      applyRules(logits, row.ids, this.plan);
      return topIds(logits, Math.min(reach, logits.length))
        .filter((token) => logits[token] > -Infinity)
        .map((token) => ({ logProbability: row.logProbability + logProbabilities[token], origin, token }));
    });
    candidates.sort((one, other) => other.logProbability - one.logProbability);
    const survivors = this.select(candidates.slice(0, reach));
    const seen = new Set();
    this.rows = survivors.map(({ row, origin }) => {
      const caches = seen.has(origin) ? copyCaches(row.caches) : row.caches;
      seen.add(origin);
      return { ...row, caches };
    });
    return true;
  }

  /** Splits candidates into surviving, finished and dropped ones. Returns the survivors. */
  select(candidates) {
    /** @type {{ row: Hypothesis, origin: number }[]} */
    let survivors = [];
    const { limit, endId } = this.plan;
    candidates.forEach(({ logProbability, origin, token }, rank) => {
      const parent = this.rows[origin];
      const ids = [...parent.ids, token];
      const score = logProbability / ids.length ** this.lengthPenalty;
      const isEnd = token === endId;
      const isComplete = isEnd || ids.length >= limit;
      const isDropped = (isComplete && rank >= this.width) || survivors.length === this.width;
      const outcome = isDropped ? 'dropped' : isComplete ? 'finished' : 'kept';
      this.tree.push({ parent: parent.node, step: parent.ids.length, id: token, logProbability, score, outcome });
      if (outcome === 'finished') this.results.push({ ids, score, logProbability, ended: isEnd });
      if (outcome !== 'kept') return;
      const gains = [...parent.gains, logProbability - parent.logProbability];
      survivors.push({ row: { ids, logProbability, gains, node: this.tree.length - 1, caches: parent.caches }, origin });
    });
    this.results.sort((one, other) => Number(other.ended) - Number(one.ended) || other.score - one.score);
    this.results.length = Math.min(this.results.length, this.width);
    const leader = survivors[0]?.row;
    const reachable = leader ? leader.logProbability / leader.ids.length ** this.lengthPenalty : -Infinity;
    if (leader) this.best = leader;
    const [first] = this.results;
    if (first && first.score >= reachable) {
      this.best = { ids: first.ids, logProbability: first.logProbability, gains: [], node: -1, caches: [] };
    }
    if (this.results.length === this.width && /** @type {Candidate} */ (this.results.at(-1)).score >= reachable) {
      for (const { row } of survivors) this.tree[row.node].outcome = 'dropped';
      survivors = [];
    }
    return survivors;
  }
}
