// Evaluates arithmetic expressions that the reader types, such as "0.5*1.2 - 0.3", "e^0.9" or "7.4/12", and formats numbers.

const NUMBER = /^\d*\.?\d+/;

/** The value of an arithmetic expression; NaN if it is invalid. */
export function readSum(text) {
  const reader = new SumReader(normalise(text));
  const value = reader.sum();
  return reader.atEnd() ? value : NaN;
}

/** Replaces typographic and full-width signs, which phones and Chinese keyboards insert. */
function normalise(text) {
  return text
    .replace(/[−–]/g, '-')
    .replace(/[×·]/g, '*')
    .replace(/÷/g, '/')
    .replace(/[,，]/g, '.')
    .replace(/（/g, '(')
    .replace(/）/g, ')')
    .replace(/\s/g, '');
}

/** Recursive-descent parser of sums and products of numbers, brackets, powers of e and square roots. */
class SumReader {
  constructor(text) {
    this.text = text;
    this.position = 0;
  }

  atEnd() {
    return this.position === this.text.length && this.text.length > 0;
  }

  /** Skips a sign if it is next. Returns whether it was. */
  take(sign) {
    const isNext = this.text.startsWith(sign, this.position);
    if (isNext) this.position += sign.length;
    return isNext;
  }

  sum() {
    let value = this.product();
    for (;;) {
      if (this.take('+')) value += this.product();
      else if (this.take('-')) value -= this.product();
      else return value;
    }
  }

  product() {
    let value = this.atom();
    for (;;) {
      if (this.take('*')) value *= this.atom();
      else if (this.take('/')) value /= this.atom();
      else return value;
    }
  }

  atom() {
    if (this.take('-')) return -this.atom();
    if (this.take('(')) return this.closed(this.sum());
    if (this.take('√')) return Math.sqrt(this.atom());
    if (this.take('e')) {
      this.take('^');
      return Math.exp(this.atom());
    }
    const number = NUMBER.exec(this.text.slice(this.position));
    if (!number) return NaN;
    this.position += number[0].length;
    return Number(number[0]);
  }

  closed(value) {
    return this.take(')') ? value : NaN;
  }
}

/** A number with a true minus sign: "−0.57". */
export function formatNumber(number, digits = 2) {
  const text = Math.abs(number).toFixed(digits);
  return number < 0 && Number(text) !== 0 ? `−${text}` : text;
}

/** The number of decimals that a number needs, 1 or 2. */
export const decimals = (number) => (Math.abs(number - Number(number.toFixed(1))) < 1e-5 ? 1 : 2);

/** The number of decimals that all numbers of a matrix need. */
export const countMatrixDecimals = (matrix) => Math.max(...matrix.flat().map(decimals));

/** Formats a term with as few decimals as it needs. Negative terms have brackets, except for the first one. */
export function formatTerm(number, isFirst = false) {
  const text = formatNumber(number, decimals(number));
  return number < 0 && !isFirst ? `(${text})` : text;
}

/** "1.82 × (−2.02) + 1.84 × (−0.57)" */
export const formatProducts = (row, column) =>
  row.map((number, index) => `${formatTerm(number, index === 0)} × ${formatTerm(column[index])}`).join(' + ');

/** Large numbers without decimals: "9,653". */
export const formatLarge = (number) => (number >= 100 ? Math.round(number).toLocaleString('en') : formatNumber(number));

// Displayed numbers have two decimals, so a sum of them may differ from the exact number.
const TOLERANCE = 0.0201;
const RELATIVE_TOLERANCE = 0.006;

export const isNear = (value, expected) => Math.abs(value - expected) <= TOLERANCE;

/** Whether a typed value is within the absolute or the relative tolerance of the expected one. */
export const isRight = (value, expected, tolerance = TOLERANCE) =>
  Math.abs(value - expected) <= Math.max(tolerance, RELATIVE_TOLERANCE * Math.abs(expected));
