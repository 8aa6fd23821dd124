// How far one has come: which lessons are begun or done, and which guesses were right. It stays in this browser.

const KEY = 'headlight-learn';

function read() {
  try {
    const { done = {}, right = {}, started = false } = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    return { done, right, started };
  } catch {
    return { done: {}, right: {}, started: false }; // a browser that keeps nothing
  }
}

function write(changes) {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...read(), ...changes }));
  } catch {
    // a browser that keeps nothing
  }
}

/** Of a lesson: undefined, `begun` or `done`. */
export const marked = (lesson) => read().done[lesson];

export function mark(lesson, how) {
  const { done } = read();
  if (done[lesson] !== 'done' && done[lesson] !== how) write({ done: { ...done, [lesson]: how } });
}

/** The first guess at a question counts. */
export function guessed(question, isRight) {
  const { right } = read();
  if (!(question in right)) write({ right: { ...right, [question]: isRight } });
}

/** How many guesses were right, of how many. */
export function score() {
  const guesses = Object.values(read().right);
  return { right: guesses.filter(Boolean).length, all: guesses.length };
}
