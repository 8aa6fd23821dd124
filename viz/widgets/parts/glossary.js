// Finds terms in the page's texts. User text must not be searched: only texts that match a phrase are, and only the
// literal parts of the phrase, not its values. Texts that consist of terms alone are ignored, because visitors type
// "head" and "token", too.

/** Keys of the terms, in the order of the list of all terms. */
export const TERMS = [
  ...['attention', 'token', 'start', 'end', 'head', 'layer', 'encoder', 'decoder', 'cross', 'masked', 'query', 'score', 'softmax'],
  ...['embedding', 'positions', 'stream', 'norm', 'logits', 'log_probability', 'odds', 'greedy', 'beam', 'chrf', 'bleu'],
];

const escapePattern = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
const VALUE_PATTERN = /\{\w+\}/;
const MIN_CHARACTERS = 4; // minimum number of characters outside terms that identify a fragment of a phrase
const NO_LETTER_PATTERN = /[^\p{L}\p{N}]/gu;
const LETTER_PATTERN = '[\\p{L}\\p{N}_-]';

/** Finds the terms of one language. */
export class Glossary {
  /** @param {Record<string, string>} words phrases by key; `term_X_in`: forms of a term, `-` marks text that is not the term */
  constructor(words) {
    this.byForm = new Map(); // form in lower case → term, or null
    for (const term of TERMS) {
      for (const form of words[`term_${term}_in`].split(', ')) {
        const isExclusion = form.startsWith('-');
        this.byForm.set((isExclusion ? form.slice(1) : form).toLowerCase(), isExclusion ? null : term);
      }
    }
    const longestFirst = [...this.byForm.keys()].sort((a, b) => b.length - a.length);
    // A Latin form is a whole word; Chinese has no spaces.
    const makePattern = (form) =>
      /^\p{Script=Latin}/u.test(form) ? `(?<!${LETTER_PATTERN})${escapePattern(form)}(?!${LETTER_PATTERN})` : escapePattern(form);
    this.formPattern = new RegExp(longestFirst.map(makePattern).join('|'), 'giu');
    this.literalTexts = new Set();
    this.phrasePatterns = [];
    for (const [key, phrase] of Object.entries(words)) if (!key.startsWith('term_')) this.addPhrase(phrase);
  }

  /** Registers a phrase: each literal part, and runs of parts with values, since some values are separate elements. */
  addPhrase(phrase) {
    const literals = phrase.split(VALUE_PATTERN);
    const explains = literals.map((literal) => this.matches(literal).length > 0);
    const minLength = literals.length > 1 ? MIN_CHARACTERS : 1;
    for (const [first, literal] of literals.entries()) {
      if (explains[first] && this.countLettersOutsideTerms(literal) >= minLength) this.literalTexts.add(literal.trim());
      for (let end = first + 2; end <= literals.length; end++) {
        const run = literals.slice(first, end);
        if (!explains.slice(first, end).some(Boolean) || this.countLettersOutsideTerms(run.join('')) < MIN_CHARACTERS) continue;
        this.phrasePatterns.push(new RegExp(`^${run.map((item) => `(${escapePattern(item)})`).join('.*?')}$`, 'dsu'));
      }
    }
  }

  /** Number of characters outside the terms of a text. */
  countLettersOutsideTerms(text) {
    const terms = this.matches(text).reduce((all, { start, end }) => all + text.slice(start, end).replace(NO_LETTER_PATTERN, '').length, 0);
    return text.replace(NO_LETTER_PATTERN, '').length - terms;
  }

  /** All terms in a text: `[{term, start, end}]`. */
  matches(text) {
    const results = [];
    for (const match of text.matchAll(this.formPattern)) {
      const term = this.byForm.get(match[0].toLowerCase());
      if (term) results.push({ term, start: match.index, end: match.index + match[0].length });
    }
    return results;
  }

  /** The terms in the literal parts of a text that matches a phrase. */
  find(text) {
    const matches = this.matches(text);
    if (!matches.length || this.literalTexts.has(text.trim())) return matches;
    const phrase = this.phrasePatterns.map((item) => item.exec(text)).find(Boolean);
    if (!phrase) return [];
    const spans = /** @type {any} */ (phrase).indices.slice(1);
    return matches.filter(({ start, end }) => spans.some(([spanStart, spanEnd]) => spanStart <= start && end <= spanEnd));
  }
}
