// Permalink of a text and its model.

const MAX_CHARACTERS = 4000; // characters of the URL-encoded text; longer links are hard to share

/** Permalink fields of a text. The text is empty if it is the first example, or too long for a link. */
export function reviewLink(text, firstExample, classifier) {
  const isTooLong = new URLSearchParams({ text }).toString().length > MAX_CHARACTERS;
  return { review: isTooLong || text === firstExample ? '' : text, classifier, isTooLong };
}
