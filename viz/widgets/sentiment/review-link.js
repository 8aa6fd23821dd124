// Permalink of a text and its model.

const LONGEST = 4000; // characters of a text as an address writes it: with a sentence beside it, that stays a link one can send

/** A text that is `long` is left out of it. */
export function reviewLink(text, first, classifier) {
  const long = new URLSearchParams({ text }).toString().length > LONGEST;
  return { review: long || text === first ? '' : text, classifier, long };
}
