// Word alignment: links drawn by the visitor, links of a head, and the head's alignment error rate. The rules are the
// same as in `model/measures/alignment.py`, which a test checks. The server does not send the rates, because they change with
// each link that the visitor draws.

/** The words or tokens of a sentence that can be linked, {places: token positions, label}, without special tokens. */
export function makeLinkUnits(tokens, text, byWords) {
  const units = [];
  for (const [index, token] of tokens.entries()) {
    if (token.special) continue;
    const last = units.at(-1);
    if (byWords && last && token.word != null && token.word === last.word) {
      last.places.push(index);
      last.end = token.end;
      last.label = text.slice(last.start, token.end).trim();
    } else units.push({ word: token.word, start: token.start, end: token.end, places: [index], label: token.label });
  }
  return units.map(({ places, label }) => ({ places, label }));
}

/** Links `[source, target]`: per target unit, the source unit with the largest weight. `shift` 1: use the next row. */
export function findAttentionLinks(map, targets, sources, shift) {
  if (!sources.length) return [];
  return targets.map((unit, target) => {
    const weights = sources.map((source) => sumLinkWeights(map, unit, source, shift));
    return [weights.indexOf(Math.max(...weights)), target];
  });
}

/** Sum of the weights from a target unit to a source unit. */
function sumLinkWeights({ weights, rows, columns }, { places }, source, shift) {
  let sum = 0;
  for (const index of places) {
    const row = Math.min(index + shift, rows - 1);
    for (const column of source.places) sum += weights[row * columns + column] || 0;
  }
  return sum;
}

/** Mean weight of a head on the links of `gold`. */
function averageLinkWeight(map, targets, sources, shift, gold) {
  let sum = 0;
  for (const name of gold.keys()) {
    const [source, target] = name.split('-').map(Number);
    sum += sumLinkWeights(map, targets[target], sources[source], shift) / targets[target].places.length;
  }
  return gold.size ? sum / gold.size : 0;
}

const formatLink = (source, target) => `${source}-${target}`;

/** Alignment error rate, precision and recall. `gold`: map from `source-target` to whether the link is sure. */
export function scoreLinks(links, gold) {
  const sure = [...gold.values()].filter(Boolean).length;
  const right = links.filter(([source, target]) => gold.has(formatLink(source, target))).length;
  const rightAndSure = links.filter(([source, target]) => gold.get(formatLink(source, target))).length;
  const total = links.length + sure;
  return {
    rate: total ? 1 - (right + rightAndSure) / total : 0,
    precision: links.length ? right / links.length : 1,
    recall: sure ? rightAndSure / sure : 1,
  };
}

/** All heads with both shifts, by ascending error rate; ties are broken by the mean weight on the links. */
export function rankHeads(translation, sources, targets, gold) {
  const heads = [];
  for (let layer = 0; layer < translation.layers('cross'); layer++) {
    for (let head = 0; head < translation.heads('cross'); head++) {
      const map = translation.map('cross', layer, head);
      for (const shift of [0, 1]) {
        const weight = averageLinkWeight(map, targets, sources, shift, gold);
        heads.push({ layer, head, shift, weight, ...scoreLinks(findAttentionLinks(map, targets, sources, shift), gold) });
      }
    }
  }
  return heads.sort((a, b) => a.rate - b.rate || b.weight - a.weight);
}

const ENTRY = /^(\d+)([-?])(\d+)(p?)$/;

/**
 * Parses Pharaoh format: `0-0` is a sure link, `1-2p` or `1?2` a possible one. Returns `{ gold }`, or `{ fault, entry }` with a
 * phrase key and the invalid entry.
 */
export function readPharaoh(text, sources, targets) {
  const gold = new Map();
  for (const entry of text.split(/\s+/).filter(Boolean)) {
    const [, source, sign, target, possible] = ENTRY.exec(entry) ?? [];
    if (source === undefined) return { fault: 'links_no_link', entry };
    if (Number(source) >= sources || Number(target) >= targets) return { fault: 'links_beyond', entry };
    gold.set(formatLink(Number(source), Number(target)), sign === '-' && !possible);
  }
  return { gold };
}

/** Formats links in Pharaoh format, sorted by source. */
export function writePharaoh(gold) {
  const links = [...gold].map(([name, sure]) => [...name.split('-').map(Number), sure]);
  links.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return links.map(([source, target, sure]) => `${source}-${target}${sure ? '' : 'p'}`).join(' ');
}
