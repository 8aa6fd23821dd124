/** A request that cannot be answered: a key of the phrase tables with its values, and the field that it belongs to. */
export class Fault extends Error {
  /**
   * @param {string} field
   * @param {string} word
   * @param {Record<string, any>} [values]
   */
  constructor(field, word, values = {}) {
    super(word);
    this.field = field;
    this.word = word;
    this.values = values;
  }

  /** @returns {import('messages').ErrorMessage} */
  get asMessage() {
    return { what: 'error', field: this.field, word: this.word, values: this.values };
  }
}
