// Progress of the visitor: lessons begun or done, and correct guesses. It is stored in localStorage.

const KEY = 'headlight-learn';

let visit = null; // progress of this visit if localStorage is blocked, as in a cross-site iframe

/** Whether the progress is stored beyond this visit. */
export function isPersistent() {
  try {
    localStorage.getItem(KEY);
    return visit === null;
  } catch {
    return false;
  }
}

function read() {
  try {
    const { done = {}, right = {}, started = false } = visit ?? JSON.parse(localStorage.getItem(KEY) ?? '{}');
    return { done, right, started };
  } catch {
    return { done: {}, right: {}, started: false };
  }
}

function write(changes) {
  const values = { ...read(), ...changes };
  try {
    localStorage.setItem(KEY, JSON.stringify(values));
  } catch {
    visit = values;
  }
}

/** Status of a lesson: undefined, `begun` or `done`. */
export const lessonStatus = (lesson) => read().done[lesson];

export function setLessonStatus(lesson, status) {
  const { done } = read();
  if (done[lesson] !== 'done' && done[lesson] !== status) write({ done: { ...done, [lesson]: status } });
}

/** Record the first guess at a question; later guesses do not count. */
export function recordGuess(question, isRight) {
  const { right } = read();
  if (!(question in right)) write({ right: { ...right, [question]: isRight } });
}

/** Number of correct guesses and of all guesses. */
export function score() {
  const guesses = Object.values(read().right);
  return { right: guesses.filter(Boolean).length, all: guesses.length };
}
