// Asset URLs, lazy loading of scripts, and server calls with retries.

import { isMessage } from './messages.js';
import { isBusy, Retry, sleep } from './retry.js';

/** @typedef {import('messages').ErrorMessage} ErrorMessage */

// Phrases, colours, fields and file versions, loaded with the modules.
export const tables = globalThis.headlightTables;

/** URL of a file on the server. It contains the file's version, so that browsers can cache the file forever. */
const getFileUrl = (name) => new URL(`../../${tables.versions[name]}/${name}`, import.meta.url).href;

/** URL of a file. A static page decompresses it first (`engine/start.js`). @type {(name: string) => Promise<string>} */
export const asset = async (name) => (globalThis.openHeadlightFile ?? getFileUrl)(name);

/** Adds a script or a style sheet to the page. If it does not load, it is removed, and the promise is rejected. */
async function addFile(name, type = '') {
  const url = await asset(name);
  const element = name.endsWith('.css')
    ? Object.assign(document.createElement('link'), { rel: 'stylesheet', href: url })
    : Object.assign(document.createElement('script'), { type, src: url });
  await new Promise((onload, reject) => {
    const onerror = () => {
      element.remove();
      reject(new Error(name));
    };
    document.head.append(Object.assign(element, { onload, onerror }));
  });
}

/** @type {Promise<any> | null} */
let plotlyPromise = null;

/** Loads Plotly once, from the page's own server. */
export function loadPlotly() {
  if (window.Plotly) return Promise.resolve(window.Plotly);
  plotlyPromise ??= addFile('plotly.js').then(() => window.Plotly);
  return plotlyPromise;
}

/** @type {Promise<any> | null} */
let bundlePromise = null;

/** Returns a lesson or deck module. The first call loads all of them, with their styles and phrases. */
export async function loadLazy(name) {
  bundlePromise ??= Promise.all([addFile('lessons.css'), addFile('lessons.js', 'module')]);
  await bundlePromise.catch((error) => {
    bundlePromise = null; // so that the next call tries again
    throw error;
  });
  return globalThis.headlightModules[name];
}

/**
 * Callbacks that show the status of waiting calls. `queue-status.js` replaces these no-ops, except on a saved page, which
 * has no server. `waiter` identifies a call.
 */
export const queueStatus = {
  /** @type {(waiter: unknown, position: number | null) => void} number of requests ahead in the queue; null: not waiting */
  setPosition: () => {},
  /** @type {(waiter: unknown, isUnreachable: boolean) => void} */
  setUnreachable: () => {},
  /** @type {(waiter: unknown, pause: number | null) => void} milliseconds until a busy server is called again; null: no retry */
  setRetry: () => {},
  /** @type {(name: string, progress: { done: number, total: number } | null) => void} progress of a model's download, in bytes */
  setLoading: () => {},
};

/**
 * Calls a server function and shows the queue status. Retries while the cluster is unreachable or the server is busy.
 * Throws any other error message from the server as an `Error` whose `fault` is the message (see `getFault`).
 * Background calls pass `isWanted()`: they show no status and resolve to `null` once it returns false.
 * `onRetry(answer)` is called before each pause. Aborting `signal` cancels the request and rejects the promise.
 *
 * @template Result
 * @overload
 * @param {import('messages').Call<Result>} serverFunction
 * @param {object} values
 * @param {null} [isWanted]
 * @param {null} [onRetry]
 * @param {AbortSignal} [signal]
 * @returns {Promise<Result>}
 */
/**
 * @template Result
 * @overload
 * @param {import('messages').Call<Result>} serverFunction
 * @param {object} values
 * @param {(() => boolean) | null} isWanted
 * @param {((answer: ErrorMessage) => void) | null} [onRetry]
 * @returns {Promise<Result | null>}
 */
/**
 * @template Result
 * @param {import('messages').Call<Result>} serverFunction
 * @param {object} values
 * @param {(() => boolean) | null} isWanted
 * @param {((answer: ErrorMessage) => void) | null} onRetry
 * @param {AbortSignal} [signal]
 * @returns {Promise<Result | null>}
 */
export async function callWithRetry(serverFunction, values, isWanted = null, onRetry = null, signal = undefined) {
  const retry = new Retry();
  const options = signal && { signal };
  let answer = await serverFunction(values, undefined, options);
  try {
    while (isMessage(answer, 'waiting') || retry.shouldRetry(answer)) {
      if (isWanted && !isWanted()) return null;
      if (!isWanted) {
        queueStatus.setPosition(serverFunction, answer.what === 'waiting' ? answer.before : null);
        queueStatus.setUnreachable(retry, answer.what === 'error' && !isBusy(answer));
      }
      if (answer.what === 'waiting') {
        if (!isWanted) queueStatus.setRetry(retry, null);
        answer = await serverFunction(values, answer.ticket, options); // a queued request keeps its place
        continue;
      }
      const pause = retry.pause(answer);
      if (!isWanted) queueStatus.setRetry(retry, isBusy(answer) ? pause : null);
      onRetry?.(answer);
      await sleep(pause, isWanted);
      if (isWanted && !isWanted()) return null;
      signal?.throwIfAborted();
      answer = await serverFunction(values, undefined, options);
    }
  } finally {
    retry.finish();
    if (!isWanted) {
      queueStatus.setPosition(serverFunction, null);
      queueStatus.setUnreachable(retry, false);
      queueStatus.setRetry(retry, null);
    }
  }
  if (isMessage(answer, 'error')) throw Object.assign(new Error(answer.word), { fault: answer });
  return answer;
}

/**
 * The error message from the server that a caught exception carries, if any.
 * @param {any} error
 * @returns {ErrorMessage | undefined}
 */
export const getFault = (error) => error?.fault;
