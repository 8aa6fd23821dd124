// Matches the tokens of two translations of one sentence; the server computed the alignment.

import { axisSide } from '../core/translation.js';

/** Decoder columns begin with the start token, so they are shifted by one. */
const getShift = (kind, axis) => (kind === 'decoder' && axis === 'columns' ? 1 : 0);

export class TokenMatching {
  constructor({ source, target }) {
    this.sentences = { source, target };
  }

  /** Whether both sides have the same text on an axis. */
  hasSameTexts(kind, axis) {
    return this.sentences[axisSide(kind, axis)].same;
  }

  /**
   * The rows or columns that both maps share: the words of either side in reading order, with their positions per side.
   */
  units(kind, answers) {
    const axis = (name) => {
      const shift = getShift(kind, name);
      const counts = answers.map((translation) => translation[name](kind).length);
      const items = this.sentences[axisSide(kind, name)].units.map(({ first, second, ...unit }, number) => {
        const places = [first, second].map((side, sideIndex) =>
          side.map((position) => position + shift).filter((index) => index < counts[sideIndex]),
        );
        return { ...unit, key: `u${number}`, places };
      });
      const start = { ...answers[0].start, full: answers[0].start.label, key: 'b', places: [[0], [0]] };
      const axisItems = shift ? [start, ...items] : items;
      return axisItems.filter(({ places }) => places.some((side) => side.length));
    };
    return { rows: axis('rows'), columns: axis('columns') };
  }
}

/** Whether both sides have the word. */
export const isMatched = ({ places }) => places.every((side) => side.length > 0);
