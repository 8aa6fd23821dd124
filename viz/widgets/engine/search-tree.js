// The beam search tree with the reason of each choice: `draw_search` of `viz/tabs/decoding.py`.

import { candidateLabel } from './labels.js';

/** Why each node was kept, finished or dropped. Nodes of a step are ordered by probability. */
function choiceReasons(nodes, beam, endId) {
  const last = nodes.reduce((most, { step }) => Math.max(most, step), 0);
  const isTruncated = nodes.some(({ outcome, id }) => outcome === 'finished' && id !== endId);
  let [current, rank, unfinishedAhead] = [-1, 0, 0];
  return nodes.map(({ step, outcome, id }) => {
    if (step !== current) [current, rank, unfinishedAhead] = [step, 0, 0];
    const isEnd = id === endId;
    let reason = 'over';
    if (outcome === 'finished') reason = isEnd ? 'ended' : 'limit';
    else if (outcome === 'kept') reason = 'kept';
    else if (isEnd && rank >= beam && unfinishedAhead < beam) reason = 'late_end';
    else if (unfinishedAhead >= beam || step < last || isTruncated) reason = 'worse';
    rank++;
    if (!isEnd && outcome !== 'finished') unfinishedAhead++;
    return reason;
  });
}

/** The ids from the start to each node. */
function listPaths(nodes) {
  /** @type {number[][]} */
  const results = [];
  for (const { parent, id } of nodes) results.push([...(parent < 0 ? [] : results[parent]), id]);
  return results;
}

/** The text up to a node as a difference to its parent: common characters and the text after them. */
function textDifference(before, text) {
  const [old, now] = [before, text].map((part) => Array.from(part));
  let common = 0;
  while (common < Math.min(old.length, now.length) && old[common] === now[common]) common++;
  return [common, now.slice(common).join('')];
}

const round = (number) => Math.round(number * 1e6) / 1e6;

/**
 * @param {import('./translator.js').Model} model
 * @param {any} translation
 */
export function searchValues({ config, targetTokenizer }, translation) {
  /** @type {import('./search.js').SearchNode[]} */
  const nodes = translation.tree;
  const { options } = translation.request;
  const ids = listPaths(nodes);
  const texts = ids.map((path) => targetTokenizer.decode(path));
  /** @type {{ ids: number[], reverse_score: number | null }[]} */
  const ranked = translation.hypotheses.filter(({ reverse_score: score }) => score !== null);
  const rank = (index) => {
    const at = ranked.findIndex((hypothesis) => String(hypothesis.ids) === String(ids[index]));
    return at < 0 ? ranked.length : at;
  };
  const reasons = choiceReasons(nodes, options.beam_size, config.end_id);
  const isOpen = (index) => Number(nodes[index].id !== config.end_id);
  const finished = [...nodes.keys()]
    .filter((index) => nodes[index].outcome === 'finished')
    .sort((one, other) => rank(one) - rank(other) || isOpen(one) - isOpen(other) || nodes[other].score - nodes[one].score);
  return {
    beam: options.beam_size,
    samples: options.temperature > 0,
    nodes: nodes.map((node, index) => [
      ...[node.parent, node.step, node.id, candidateLabel(targetTokenizer.label(node.id))],
      ...textDifference(node.parent < 0 ? '' : texts[node.parent], texts[index]),
      ...[round(node.logProbability), round(node.score), node.outcome, reasons[index]],
    ]),
    finished,
    backs: finished.map((index) => (rank(index) < ranked.length ? round(ranked[rank(index)].reverse_score ?? 0) : null)),
    back_weight: options.back_weight,
    written: {
      ids: translation.target.map(({ id }) => id),
      text: translation.text,
      score: translation.score,
      log_probability: translation.logProbability,
    },
  };
}
