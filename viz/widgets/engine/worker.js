// The worker of a static page. Messages from the page: `{ site }` once, `{ number, name, values }` for a call, `{ stop }` to end one.
// Messages to the page: `{ number, message }` of a stream, `{ number, result }` at the end, `{ loading }` while a model loads.

import { ANSWERS } from './calls.js';
import { Engine } from './engine.js';
import { Fault } from './fault.js';
import { Foreground } from './foreground.js';
import { ModelLoader } from './loader.js';

/** @type {Engine | null} */
let engine = null;
/** @type {Set<number>} running calls */
const running = new Set();
const BACKGROUND = ['read_back']; // calls that wait while others run
const foreground = new Foreground();

/** Lets messages in, such as those that stop a call, without the delay of a timer. */
const pause = (() => {
  const channel = new MessageChannel();
  /** @type {(() => void)[]} */
  const paused = [];
  channel.port1.onmessage = () => paused.shift()?.();
  return () =>
    new Promise((resolve) => {
      paused.push(() => resolve(undefined));
      channel.port2.postMessage(null);
    });
})();

/** Lets messages in, and waits while other calls run. */
async function pauseInBackground() {
  await pause();
  await foreground.wait();
}

/** The result of a call, or its error message. */
async function answer({ number, name, values }) {
  const isStopped = () => !running.has(number);
  const send = (message) => isStopped() || postMessage({ number, message });
  const call = (control) => ANSWERS[name](engine, values, control, send);
  try {
    if (BACKGROUND.includes(name)) return await call({ isStopped, pause: pauseInBackground });
    return await foreground.run(() => call({ isStopped, pause }));
  } catch (error) {
    if (error instanceof Fault) return error.asMessage;
    console.error(error);
    return { what: 'error', field: 'text', word: 'our_fault', values: {} };
  }
}

addEventListener('message', async ({ data }) => {
  if (data.site) engine = new Engine(data.site, new ModelLoader(data.site, (loading) => postMessage({ loading })));
  else if (data.stop) running.delete(data.stop);
  else {
    running.add(data.number);
    const result = await answer(data);
    if (running.delete(data.number)) postMessage({ number: data.number, result });
  }
});
