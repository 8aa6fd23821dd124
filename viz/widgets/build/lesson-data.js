// The lesson's numbers by the names that its parts use, all taken from the server's answer.

import { headColumns, multiply, transpose } from './matrices.js';

export class LessonData {
  /** @param {any} answer of the call `read_build` */
  constructor(answer) {
    this.answer = answer;
    this.parts = answer.parts;
    this.names = answer.parts.map(({ name }) => name);
  }

  get words() {
    return this.answer.source;
  }

  /** Words that the decoder's rows read: the start word and all written words except the last. */
  get readWords() {
    return ['start', ...this.answer.target];
  }

  /** Words that the decoder's rows write. */
  get writtenWords() {
    return [...this.answer.target, 'end'];
  }

  get row() {
    return this.answer.row;
  }

  get word() {
    return this.words[this.row];
  }

  get head() {
    return this.answer.head;
  }

  part(name) {
    return this.parts.find((part) => part.name === name);
  }

  variant(name) {
    return this.answer.variants[name];
  }

  trace(name) {
    return this.answer.trace[name];
  }

  /** A result as the page shows it, rounded. Each is calculated from the rounded numbers of the previous step. */
  printed(name) {
    return this.answer.printed[name];
  }

  /** The rounded numbers of the head on display. */
  printedHead(name) {
    return this.printed(name)[this.head];
  }

  /** The number of a part, from 1. */
  partNumber(part) {
    return this.names.indexOf(part) + 1;
  }

  /** The matrix of one head in a traced tensor, for example "encoder.query". */
  ofHead(name, head = this.head) {
    return this.trace(name)[head];
  }

  weight(name) {
    return this.answer.weights[name];
  }

  /** The columns of the shown head of a weight. */
  headWeight(name) {
    return headColumns(this.weight(name), this.head);
  }

  /** Scores of the encoder's head before the division by √d. */
  get rawScores() {
    return multiply(this.ofHead('encoder.query'), transpose(this.ofHead('encoder.key')));
  }

  get positions() {
    return this.answer.positions.slice(0, this.words.length);
  }

  /** Words before positions are added. */
  get embedded() {
    const ids = this.words.map((word) => this.answer.source_words.indexOf(word));
    return ids.map((id) => this.weight('source_table')[id]);
  }
}
