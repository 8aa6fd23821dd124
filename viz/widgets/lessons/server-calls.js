// Server calls of the lessons.

import { callWithRetry } from '../core/boot.js';

/**
 * The lessons, and the calls for tensors, experiments, training runs and notebooks. Pending calls for tensors and experiments
 * are counted.
 * @param {import('../core/server.js').Server} server
 */
export async function lessonCalls(root, server) {
  const pending = { count: 0 };
  const [tensors, experiments] = [server.lesson_tensors, server.run_experiment].map((call) =>
    countPending(root, pending, (values) => callWithRetry(call, values)),
  );
  const training = {
    begin: (values, isCurrent, onFull) => callWithRetry(server.begin_training, values, isCurrent, onFull),
    more: (values) => callWithRetry(server.more_training, values),
    stop: (values) => server.stop_training(values, '', { keepalive: true }), // also while the page closes
  };
  const notebook = server.lesson_notebook && ((values) => callWithRetry(server.lesson_notebook, values)); // only Python writes it
  const build = {
    read: () => callWithRetry(server.read_build, {}),
    run: (values) => callWithRetry(server.run_build_line, values),
  };
  const quiz = {
    read: () => callWithRetry(server.read_quiz, {}),
    makeClass: server.make_class && (() => callWithRetry(server.make_class, {})), // a static page has no classes
    joinClass: (values) => callWithRetry(server.join_class, values),
    addAnswer: (values) => callWithRetry(server.add_class_answer, values),
    readClass: (values, isWanted) => callWithRetry(server.read_class, values, isWanted),
    deleteClass: (values) => callWithRetry(server.delete_class, values),
  };
  return { lessons: await callWithRetry(server.read_lessons, {}), tensors, experiments, training, notebook, build, quiz };
}

/** Wraps a call so that the number of pending calls is in the element's `data-asks`. */
function countPending(root, pending, call) {
  return async (values) => {
    root.dataset.asks = String(++pending.count);
    try {
      return await call(values);
    } finally {
      if (--pending.count) root.dataset.asks = String(pending.count);
      else delete root.dataset.asks;
    }
  };
}
