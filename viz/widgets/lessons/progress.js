// Progress of the visitor: lessons begun or done, and guesses. It is stored in localStorage. A lesson is done when its
// questions are answered; questions whose numbers are inconclusive are not asked and do not count.

const STORAGE_KEY = 'headlight-learn';

let visitProgress = null; // progress of this visit if localStorage is blocked, as in a cross-site iframe

/** Whether the progress is stored beyond this visit. */
export function isPersistent() {
  try {
    localStorage.getItem(STORAGE_KEY);
    return visitProgress === null;
  } catch {
    return false;
  }
}

function read() {
  try {
    const stored = visitProgress ?? JSON.parse(localStorage.getItem(STORAGE_KEY) ?? '{}');
    const { done = {}, right = {}, unasked = {}, started = false, quiz = {} } = stored;
    return { done, right, unasked, started, quiz };
  } catch {
    return { done: {}, right: {}, unasked: {}, started: false, quiz: {} };
  }
}

function write(changes) {
  const values = { ...read(), ...changes };
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(values));
  } catch {
    visitProgress = values;
  }
}

/**
 * Number of a lesson's questions, and of those that are answered.
 * @param {{ name: string, steps: { name: string, ask: any }[] }} lesson
 */
export function countAnswers({ name, steps }) {
  const { right, unasked } = read();
  const keys = steps.filter(({ ask }) => ask).map((step) => `lesson_${name}_${step.name}`);
  const askedKeys = keys.filter((key) => key in right || !(key in unasked));
  return { answered: askedKeys.filter((key) => key in right).length, all: askedKeys.length, steps: keys.length };
}

/** Status of a lesson: undefined, `begun` or `done`. A lesson without questions is done after its last step. */
export function lessonStatus(lesson) {
  const stored = read().done[lesson.name];
  const { answered: count, all, steps } = countAnswers(lesson);
  if (!steps) return stored;
  return count && count === all ? 'done' : (stored ?? (count ? 'begun' : undefined)) && 'begun';
}

export function setLessonStatus(lesson, status) {
  const { done } = read();
  if (done[lesson] !== 'done' && done[lesson] !== status) write({ done: { ...done, [lesson]: status } });
}

/** Record that a step's question was not asked, because its numbers are inconclusive. */
export function recordUnasked(question) {
  const { unasked } = read();
  if (!(question in unasked)) write({ unasked: { ...unasked, [question]: true } });
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

/** The stored progress of the quiz. */
export const readQuiz = () => read().quiz;

export const writeQuiz = (quiz) => write({ quiz });
