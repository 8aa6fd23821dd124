// Maps positions in the model's input to the typed sentence, from which pictures were removed and whose spaces were merged.

const REMOVED_CHARACTER = /[\p{S}\p{M}\p{Z}\p{C}]/u; // pictures, their modifiers and joiners, spaces

/**
 * The offsets at which each UTF-16 unit of `text` starts and ends in `typed`; null if the texts differ in other characters
 * than the removed ones. Index `text.length` of `starts` and index 0 of `ends` are for empty ranges.
 * @param {string} text
 * @param {string} typed
 * @returns {{ starts: number[], ends: number[] } | null}
 */
export function locateTypedPositions(text, typed) {
  const starts = [];
  const ends = [0];
  let offset = 0; // in `typed`
  /** Skips removed characters up to `nextLetter`. */
  const skip = (nextLetter) => {
    while (offset < typed.length) {
      const letter = String.fromCodePoint(/** @type {number} */ (typed.codePointAt(offset)));
      if (letter === nextLetter || !REMOVED_CHARACTER.test(letter)) return;
      offset += letter.length;
    }
  };
  for (const letter of text) {
    skip(letter);
    const isTyped = typed.startsWith(letter, offset);
    if (!isTyped && letter !== ' ') return null;
    for (let unit = 0; unit < letter.length; unit++) {
      starts.push(offset + (isTyped ? unit : 0));
      ends.push(offset + (isTyped ? unit + 1 : 0));
    }
    if (isTyped) offset += letter.length;
  }
  starts.push(offset);
  skip('');
  return offset === typed.length ? { starts, ends } : null;
}
