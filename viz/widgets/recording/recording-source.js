// The source of a head view for a recording. It derives everything from the recording's arrays and tokens.

import { axisSide } from '../core/translation.js';
import { t } from '../core/i18n.js';
import { TranslationSource } from '../headview/translation-source.js';
import { headName } from '../parts/head-names.js';

export class RecordingSource extends TranslationSource {
  /** @param {import('../core/recording.js').Recording} recording */
  constructor(recording) {
    super(recording);
    this.recording = recording;
    this.kinds = recording.kinds;
    this.merges = [recording.source, recording.target].some((tokens) => tokens.some(({ special }) => special) || hasSplitWords(tokens));
  }

  /** Layer numbers in the model, of the first kind. */
  get layerNumbers() {
    return this.recording.recorded[this.kinds[0]].layers;
  }

  /** @returns {any} */
  thumbnailMap(kind, head, displayOptions) {
    if (this.recording.isComplete(kind)) return super.thumbnailMap(kind, head, displayOptions);
    const { weights, rows, columns } = this.recording.thumbnailMap(kind, head);
    return { weights, rows: { length: rows }, columns: { length: columns } };
  }

  sentences(kind, { special }) {
    const { labelsInputs, picture, source, source_text, start, target, text } = this.recording;
    const textTokens = source.filter((_, token) => (picture?.places[token] ?? null) === null); // patches are in the picture
    const visibleSides = new Set([axisSide(kind, 'rows'), axisSide(kind, 'columns')]);
    /** @type {[string, any[], string][]} */
    const sides = [
      ['source', textTokens, source_text],
      ['target', labelsInputs ? target : [start, ...target], text],
    ];
    const options = { language: '', named: false, idle: false };
    return sides
      .filter(([side, tokens]) => visibleSides.has(side) && tokens.length)
      .map(([side, tokens, sideText]) => ({
        ...options,
        side,
        tokens: tokens.filter((token) => special || !token.special),
        text: sideText,
      }));
  }

  headName({ layer, head }) {
    return headName(typeof layer === 'number' ? this.layerNumbers[layer] : layer, head);
  }

  kindText(kind) {
    const isWritten = !this.recording.labelsInputs && ['decoder', 'cross'].includes(kind);
    const { picture, source } = this.recording;
    if (!picture || kind === 'decoder') return t(isWritten ? `figure_any_${kind}` : `recorded_${kind}`);
    const hasText = source.some(({ special }, token) => picture.places[token] === null && !special);
    return t(`recorded_${isWritten ? 'written' : kind}_${hasText ? 'mixed' : 'image'}`);
  }

  /** Caption with the effective number of tokens per row: 2 to the power of the row's entropy, averaged over rows. */
  captionElements({ kind, layer, head }) {
    if (head === 'max') return [t('maximum_note')];
    const { weights, rows, columns } = this.recording.map(kind, layer, head);
    if (weights.every((weight) => weight !== weight)) return [t('recorded_coming')];
    let effectiveCount = 0;
    for (let row = 0; row < rows; row++) {
      let entropy = 0;
      for (const weight of weights.subarray(row * columns, (row + 1) * columns)) if (weight > 0) entropy -= weight * Math.log2(weight);
      effectiveCount += 2 ** entropy / rows;
    }
    return [t('recorded_covers', { spread: effectiveCount.toFixed(1) })];
  }

  rowVerb(view) {
    const isWritten = !this.recording.labelsInputs && ['decoder', 'cross'].includes(view.kind);
    return isWritten ? 'says_writing' : 'says_reading';
  }
}

/** Whether some words have several tokens. */
const hasSplitWords = (tokens) => tokens.some(({ word }, index) => word != null && word === tokens[index - 1]?.word);
