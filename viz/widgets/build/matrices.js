// Small matrices as lists of rows.

/** @typedef {number[][]} Matrix */

/** @param {Matrix} matrix @returns {Matrix} */
export const transpose = (matrix) => matrix[0].map((_, column) => matrix.map((row) => row[column]));

/** @param {Matrix} left @param {Matrix} right @returns {Matrix} */
export const multiply = (left, right) => left.map((row) => transpose(right).map((column) => dot(row, column)));

export const dot = (a, b) => a.reduce((total, number, index) => total + number * b[index], 0);

/** The columns of one head of width 2. */
export const headColumns = (matrix, head) => matrix.map((row) => row.slice(2 * head, 2 * head + 2));

export const pickColumn = (matrix, column) => matrix.map((row) => row[column]);

export const addUp = (numbers) => numbers.reduce((total, number) => total + number, 0);

export const averageNumbers = (numbers) => addUp(numbers) / numbers.length;

export const exponentiate = (numbers) => numbers.map((number) => Math.exp(number));

export function applySoftmax(numbers) {
  const largest = Math.max(...numbers);
  const powers = exponentiate(numbers.map((number) => number - largest));
  return powers.map((power) => power / addUp(powers));
}

/** The overlap of two rows: the sum of the smaller number of each pair. */
export const measureOverlap = (a, b) => addUp(a.map((number, index) => Math.min(number, b[index])));

/** The numbers scaled to a sum of 1; equal ones if all are 0. */
export function scaleToShares(numbers) {
  const total = addUp(numbers);
  return numbers.map((number) => (total ? number / total : 1 / numbers.length));
}
