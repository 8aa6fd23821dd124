// How far one has come: which lessons are begun or done, and which guesses were right. It stays in this browser.

const KEY = 'headlight-learn';

let visit = null; // of a browser that keeps nothing, as in the frame of another site: what this visit brought

/** Whether the browser keeps it beyond this visit. */
export function stays() {
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
  const all = { ...read(), ...changes };
  try {
    localStorage.setItem(KEY, JSON.stringify(all));
  } catch {
    visit = all;
  }
}

/** Of a lesson: undefined, `begun` or `done`. */
export const lessonStatus = (lesson) => read().done[lesson];

export function setLessonStatus(lesson, how) {
  const { done } = read();
  if (done[lesson] !== 'done' && done[lesson] !== how) write({ done: { ...done, [lesson]: how } });
}

/** The first guess at a question counts. */
export function recordGuess(question, isRight) {
  const { right } = read();
  if (!(question in right)) write({ right: { ...right, [question]: isRight } });
}

/** How many guesses were right, of how many. */
export function score() {
  const guesses = Object.values(read().right);
  return { right: guesses.filter(Boolean).length, all: guesses.length };
}
