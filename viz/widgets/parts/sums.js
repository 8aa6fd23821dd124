// Numbers as a reader types and reads them. A field takes a number or a sum: "0.5*1.2 - 0.3", "e^0.9", "7.4/12".

const NUMBER = /^\d*\.?\d+/;

/** The value of a typed number or sum; NaN if it cannot be read. */
export function readSum(text) {
  const reader = new SumReader(normalise(text));
  const value = reader.sum();
  return reader.atEnd() ? value : NaN;
}

/** Replace the signs that phones and Chinese keyboards offer. */
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

/** Recursive descent: sums of products of numbers, brackets, powers of e and roots. */
class SumReader {
  constructor(text) {
    this.text = text;
    this.position = 0;
  }

  atEnd() {
    return this.position === this.text.length && this.text.length > 0;
  }

  /** Skip a sign if it comes next. */
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
export const matrixDecimals = (matrix) => Math.max(...matrix.flat().map(decimals));

/** A number of a sum, as short as it can be; after an operator a negative number has brackets. */
export function formatTerm(number, isFirst = false) {
  const text = formatNumber(number, decimals(number));
  return number < 0 && !isFirst ? `(${text})` : text;
}

/** "1.82 × (−2.02) + 1.84 × (−0.57)" */
export const formatProducts = (row, column) =>
  row.map((number, index) => `${formatTerm(number, index === 0)} × ${formatTerm(column[index])}`).join(' + ');

/** Large numbers without decimals: "9,653". */
export const formatLarge = (number) => (number >= 100 ? Math.round(number).toLocaleString('en') : formatNumber(number));

// Printed numbers have two decimals, so a sum of them may miss the exact number by a little.
const TOLERANCE = 0.0201;
const RELATIVE_TOLERANCE = 0.006;

export const isNear = (value, expected) => Math.abs(value - expected) <= TOLERANCE;

/** Whether a typed value counts as right. */
export const isRight = (value, expected, tolerance = TOLERANCE) =>
  Math.abs(value - expected) <= Math.max(tolerance, RELATIVE_TOLERANCE * Math.abs(expected));
