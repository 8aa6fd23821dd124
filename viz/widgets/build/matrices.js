// Small matrices as lists of rows.

/** @typedef {number[][]} Matrix */

/** @param {Matrix} matrix @returns {Matrix} */
export const transpose = (matrix) => matrix[0].map((_, column) => matrix.map((row) => row[column]));

/** @param {Matrix} left @param {Matrix} right @returns {Matrix} */
export const multiply = (left, right) => left.map((row) => transpose(right).map((column) => dot(row, column)));

export const dot = (a, b) => a.reduce((total, number, index) => total + number * b[index], 0);

/** The columns of one head of width 2. */
export const headColumns = (matrix, head) => matrix.map((row) => row.slice(2 * head, 2 * head + 2));

export const columnOf = (matrix, column) => matrix.map((row) => row[column]);

export const sumOf = (numbers) => numbers.reduce((total, number) => total + number, 0);

export const meanOf = (numbers) => sumOf(numbers) / numbers.length;

/** The standard deviation over all numbers, as in layer norm. */
export function spreadOf(numbers) {
  const mean = meanOf(numbers);
  return Math.sqrt(meanOf(numbers.map((number) => (number - mean) ** 2)));
}

export const powersOf = (numbers) => numbers.map((number) => Math.exp(number));

export function softmaxOf(numbers) {
  const largest = Math.max(...numbers);
  const powers = powersOf(numbers.map((number) => number - largest));
  return powers.map((power) => power / sumOf(powers));
}

/** The share of two rows that lies in both: the sum of the smaller of each pair. */
export const overlapOf = (a, b) => sumOf(a.map((number, index) => Math.min(number, b[index])));

/** The numbers scaled to a sum of 1; equal ones if all are 0. */
export function sharesOf(numbers) {
  const total = sumOf(numbers);
  return numbers.map((number) => (total ? number / total : 1 / numbers.length));
}
