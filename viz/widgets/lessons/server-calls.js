// Server calls of the lessons.

import { callLatest } from '../core/boot.js';

/**
 * The lessons themselves; tensors and experiments, which are counted; the calls of a training run; and a lesson as a notebook.
 * @param {import('../core/server.js').Server} server
 */
export async function lessonCalls(root, server) {
  const asks = { open: 0 };
  const [tensors, experiments] = [server.lesson_tensors, server.run_experiment].map((ask) =>
    countPending(root, asks, (values) => callLatest(ask, values)),
  );
  const training = {
    begin: (values, wanted, refused) => callLatest(server.begin_training, values, wanted, refused),
    more: (values) => callLatest(server.more_training, values),
    stop: (values) => server.stop_training(values, '', { keepalive: true }), // also while the page closes
  };
  const notebook = (values) => callLatest(server.lesson_notebook, values);
  return { lessons: await callLatest(server.read_lessons, {}), tensors, experiments, training, notebook };
}

/** Wrap a call and count pending calls on the element. */
function countPending(root, asks, ask) {
  return async (values) => {
    root.dataset.asks = String(++asks.open);
    try {
      return await ask(values);
    } finally {
      if (--asks.open) root.dataset.asks = String(asks.open);
      else delete root.dataset.asks;
    }
  };
}
