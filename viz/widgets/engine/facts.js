// Types of the evidence about a translation: what is known of it, and the reasons for its grade.

/**
 * @typedef {import('./content-words.js').Word} Word
 * @typedef {import('./content-words.js').Span} Span
 * @typedef {import('./numbers.js').NumberSpan[]} Numbers
 * @typedef {{ text: string, tokens: import('./translator.js').WrittenToken[], sentence: string }} BackTranslation `sentence` in the spelling
 *   of the back-translation; its `tokens`, with their probabilities given the translation
 * @typedef {{ kind: string, source_spans: Span[], target_spans: Span[], source: string, target: string }} Reason
 * @typedef {{ sentence: string, text: string, language: string, read: Word[], written: Word[], writtenNumbers: Numbers,
 *   differing: Numbers[], rows: Float64Array[], attention: (tokens: number[]) => number, coverage: number[], misspelt: [Word, Word][], copied: Word[],
 *   repeated: Word[], runs: Span[], doubtful: Word[], omitted: Word[][], back: BackTranslation | null }} Facts about a translation and its
 *   sentence as the model read it; `language` of the sentence; `rows`: mean of cross-attention; `doubtful`: the least likely word
 *   first
 */

export {};
