// Server calls of the lessons.

import { call } from '../core/boot.js';

/** The lessons themselves; tensors and experiments, which are counted; the calls of a training run; and a lesson as a notebook. */
export async function asksOf(root, server) {
  const asks = { open: 0 };
  const [tensors, experiments] = [server.lesson_tensors, server.run_experiment].map((ask) =>
    counted(root, asks, (values) => call(ask, values)),
  );
  const training = {
    begin: (values, wanted, refused) => call(server.begin_training, values, wanted, refused),
    more: (values) => call(server.more_training, values),
    stop: (values) => call(server.stop_training, values),
  };
  const notebook = (values) => call(server.lesson_notebook, values);
  return { lessons: await call(server.read_lessons, {}), tensors, experiments, training, notebook };
}

/** Wrap a call and count pending calls on the element. */
function counted(root, asks, ask) {
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
