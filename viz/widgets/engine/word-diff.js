// Comparison of two translations by words: `model/measures/word_diff.py`, with the matching of Python's `difflib`.

/** Words of a translation, or special tokens, with the indices of their tokens. */
export function writtenWords(tokens, text) {
  const characters = Array.from(text);
  /** @type {number[][]} */
  const groups = [];
  tokens.forEach((token, index) => {
    const before = tokens[index - 1];
    const isSameWord = before && !before.special && !token.special && token.word !== null && before.word === token.word;
    if (isSameWord) groups[groups.length - 1].push(index);
    else groups.push([index]);
  });
  return groups.map((positions) => {
    const [first, last] = [tokens[positions[0]], tokens[positions[positions.length - 1]]];
    const label = first.special ? first.text : characters.slice(first.start, last.end).join('').trim();
    return { text: label || first.text, positions };
  });
}

/** The longest matching block of two ranges; of several, the first in both. */
function longestMatch(first, second, [fromFirst, toFirst, fromSecond, toSecond]) {
  let best = { first: fromFirst, second: fromSecond, size: 0 };
  let lengths = new Map();
  for (let index = fromFirst; index < toFirst; index++) {
    const next = new Map();
    for (let other = fromSecond; other < toSecond; other++) {
      if (first[index] !== second[other]) continue;
      const size = (lengths.get(other - 1) ?? 0) + 1;
      next.set(other, size);
      if (size > best.size) best = { first: index - size + 1, second: other - size + 1, size };
    }
    lengths = next;
  }
  return best;
}

/** All matching blocks in order. */
export function matchingBlocks(first, second) {
  const pending = [[0, first.length, 0, second.length]];
  const blocks = [];
  while (pending.length) {
    const [fromFirst, toFirst, fromSecond, toSecond] = /** @type {number[]} */ (pending.pop());
    const match = longestMatch(first, second, [fromFirst, toFirst, fromSecond, toSecond]);
    if (!match.size) continue;
    blocks.push(match);
    pending.push([fromFirst, match.first, fromSecond, match.second]);
    pending.push([match.first + match.size, toFirst, match.second + match.size, toSecond]);
  }
  return blocks.sort((one, other) => one.first - other.first);
}

/**
 * Pairs of words as indices; a word without a partner is paired with null.
 * @param {string[]} before
 * @param {string[]} after
 * @returns {[number | null, number | null][]}
 */
export function diffWords(before, after) {
  /** @type {[number | null, number | null][]} */
  const pairs = [];
  let [first, second] = [0, 0];
  const pairUp = (toFirst, toSecond) => {
    for (; first < toFirst || second < toSecond; ) pairs.push([first < toFirst ? first++ : null, second < toSecond ? second++ : null]);
  };
  for (const match of [...matchingBlocks(before, after), { first: before.length, second: after.length, size: 0 }]) {
    pairUp(match.first, match.second);
    pairUp(match.first + match.size, match.second + match.size);
  }
  return pairs;
}
