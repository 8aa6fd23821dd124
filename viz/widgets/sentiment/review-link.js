// Permalink of a text and its model.

const MAX_CHARACTERS = 4000; // characters of the URL-encoded text; longer links are hard to share

/** Permalink fields of a text. The first example and a text that `isTooLong` are omitted. */
export function reviewLink(text, first, classifier) {
  const isTooLong = new URLSearchParams({ text }).toString().length > MAX_CHARACTERS;
  return { review: isTooLong || text === first ? '' : text, classifier, isTooLong };
}
