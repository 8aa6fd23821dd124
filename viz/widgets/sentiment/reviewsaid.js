// What is said of a text beside its verdict: which of it the model could not read, and what of it the address holds.

const LONGEST = 4000; // characters of a text as an address writes it: with a sentence beside it, that stays a link one can send
const NAMED = 8; // words that a note names

/** The words that the model's vocabulary lacks, each once, as they were typed; empty where it has all. */
export function unknownOf({ tokens, text }) {
  const found = new Set(tokens.filter(({ unknown }) => unknown).map(({ start, end }) => text.slice(start, end)));
  const named = [...found].slice(0, NAMED).join(' · ');
  return found.size > NAMED ? `${named} · …` : named;
}

/** What the address says of a text and its model; a text that is `long` is left out of it. */
export function linked(text, first, classifier) {
  const long = new URLSearchParams({ text }).toString().length > LONGEST;
  return { review: long || text === first ? '' : text, classifier, long };
}
