// Permalink of a text and its model.

const MAX_CHARACTERS = 4000; // of the URL-encoded text; longer links are hard to share

/** Permalink fields of a text. A `long` text and the first example are omitted. */
export function reviewLink(text, first, classifier) {
  const long = new URLSearchParams({ text }).toString().length > MAX_CHARACTERS;
  return { review: long || text === first ? '' : text, classifier, long };
}
