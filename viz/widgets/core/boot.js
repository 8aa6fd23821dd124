// Asset addresses and the tables needed before the first render.

import { isMessage } from './messages.js';
import { isBusy, Retry, rest } from './retry.js';

/** @typedef {import('messages').ErrorMessage} ErrorMessage */

// Phrases, colours, fields and file versions, which are loaded with the modules.
export const tables = globalThis.headlightTables;

/** URL of a static file. The URL contains the file's version, so that browsers can cache it forever. */
export const asset = (name) => new URL(`../../${tables.versions[name]}/${name}`, import.meta.url).href;

/** @type {Promise<any> | null} */
let plotly = null;

/** Loads Plotly once, from the page's own server. */
export function loadPlotly() {
  if (window.Plotly) return Promise.resolve(window.Plotly);
  plotly ??= new Promise((done, failed) => {
    const script = document.createElement('script');
    script.src = asset('plotly.js');
    script.onload = () => done(window.Plotly);
    script.onerror = () => failed(new Error('plotly.js'));
    document.head.append(script);
  });
  return plotly;
}

/** @type {Promise<null> | null} */
let lazyModules = null;

/** Lazily loads the lesson and deck modules with their styles and phrases. */
export async function loadLazy(name) {
  await bundledModules();
  return globalThis.headlightModules[name];
}

function bundledModules() {
  lazyModules ??= new Promise((done, failed) => {
    const style = document.createElement('link');
    Object.assign(style, { rel: 'stylesheet', href: asset('lessons.css') });
    const script = document.createElement('script');
    Object.assign(script, { type: 'module', src: asset('lessons.js') });
    const styled = new Promise((loaded, lost) => Object.assign(style, { onload: loaded, onerror: lost }));
    const lose = () => {
      lazyModules = null; // retry on the next call
      for (const element of [style, script]) element.remove();
      failed(new Error('lessons'));
    };
    script.onload = () => styled.then(() => done(null), lose);
    script.onerror = lose;
    document.head.append(style, script);
  });
  return lazyModules;
}

/**
 * Status of waiting calls: queue position, unreachable cluster, and the pause until the retry if the server is busy.
 * `queue-status.js` sets these functions; a saved page has no server and no queue.
 */
export const queueStatus = {
  /** @type {(who: unknown, before: number | null) => void} */
  setPosition: () => {},
  /** @type {(who: unknown, is: boolean) => void} */
  setUnreachable: () => {},
  /** @type {(who: unknown, pause: number | null) => void} */
  again: () => {},
};

/**
 * Calls a server function and shows the queue status. Retries while the cluster is unreachable or the server is busy.
 * Other errors of the server are thrown with `fault`, which selects the phrase. Background calls pass `wanted()`: they
 * show no status and resolve to `null` once it is false. `refused(answer)` is called before the pause of each retry.
 * An aborted `signal` ends the call and its turn in the queue: the promise is rejected.
 *
 * @template Result
 * @overload
 * @param {import('messages').Call<Result>} ask
 * @param {object} values
 * @param {null} [wanted]
 * @param {null} [refused]
 * @param {AbortSignal} [signal]
 * @returns {Promise<Result>}
 */
/**
 * @template Result
 * @overload
 * @param {import('messages').Call<Result>} ask
 * @param {object} values
 * @param {(() => boolean) | null} wanted
 * @param {((answer: ErrorMessage) => void) | null} [refused]
 * @returns {Promise<Result | null>}
 */
/**
 * @template Result
 * @param {import('messages').Call<Result>} ask
 * @param {object} values
 * @param {(() => boolean) | null} wanted
 * @param {((answer: ErrorMessage) => void) | null} refused
 * @param {AbortSignal} [signal]
 * @returns {Promise<Result | null>}
 */
export async function callLatest(ask, values, wanted = null, refused = null, signal = undefined) {
  const patience = new Retry();
  const options = signal && { signal };
  let answer = await ask(values, undefined, options);
  try {
    while (isMessage(answer, 'waiting') || patience.shouldRetry(answer)) {
      if (wanted && !wanted()) return null;
      if (!wanted) {
        queueStatus.setPosition(ask, answer.what === 'waiting' ? answer.before : null);
        queueStatus.setUnreachable(patience, answer.what === 'error' && !isBusy(answer));
      }
      if (answer.what === 'waiting') {
        if (!wanted) queueStatus.again(patience, null);
        answer = await ask(values, answer.ticket, options); // a queued request keeps its place
        continue;
      }
      const pause = patience.pause(answer);
      if (!wanted) queueStatus.again(patience, isBusy(answer) ? pause : null);
      refused?.(answer);
      await rest(pause, wanted);
      if (wanted && !wanted()) return null;
      signal?.throwIfAborted();
      answer = await ask(values, undefined, options);
    }
  } finally {
    patience.finish();
    if (!wanted) {
      queueStatus.setPosition(ask, null);
      queueStatus.setUnreachable(patience, false);
      queueStatus.again(patience, null);
    }
  }
  if (isMessage(answer, 'error')) throw Object.assign(new Error(answer.word), { fault: answer });
  return answer;
}

/**
 * The error message of the server that was thrown, if it was one.
 * @param {any} error
 * @returns {ErrorMessage | undefined}
 */
export const faultOf = (error) => error?.fault;
