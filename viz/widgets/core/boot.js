// Asset addresses and the tables needed before the first render.

import { isBusy, Retry, rest } from './retry.js';

// Words, colours, fields and versions of files, which came with the modules.
export const tables = globalThis.headlightTables;

/** The address of another static file; its version busts caches. */
export const asset = (name) => new URL(`../../${tables.versions[name]}/${name}`, import.meta.url).href;

let plotly = null;

/** Plotly, fetched once, from the server that serves the page. */
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
      lazyModules = null; // asked for again at the next opening
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
 * `tell(who, before)` shows how many requests are before ours, `away(who, is)` that nobody computes at present, and
 * `again(who, pause)` when we ask a busy server again; a saved page has no server and no queue.
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
 * Ask the server for something small; where others are before us, that is said until it is our turn. What it complains
 * of is thrown, with the phrase that says so. While no machine computes, or all are busy, the question stays, and is asked again.
 * `wanted()`: for calls that show no status of their own, and resolve to `null` once it is false. `refused(answer)` hears
 * what a busy server says, each time before the call rests.
 */
export async function callLatest(ask, values, wanted = null, refused = null) {
  const patience = new Retry();
  let answer = await ask(values);
  try {
    while (answer?.what === 'waiting' || patience.shouldRetry(answer)) {
      if (wanted && !wanted()) return null;
      const stays = answer.what !== 'waiting';
      const pause = stays ? patience.pause(answer) : null;
      if (!wanted) {
        queueStatus.setPosition(ask, stays ? null : answer.before);
        queueStatus.setUnreachable(patience, stays && !isBusy(answer));
        queueStatus.again(patience, isBusy(answer) ? pause : null);
      }
      if (stays) {
        refused?.(answer);
        await rest(pause, wanted);
        if (wanted && !wanted()) return null;
      }
      answer = stays ? await ask(values) : await ask(values, answer.ticket); // the queue keeps our place
    }
  } finally {
    patience.finish();
    if (!wanted) {
      queueStatus.setPosition(ask, null);
      queueStatus.setUnreachable(patience, false);
      queueStatus.again(patience, null);
    }
  }
  if (answer?.what === 'error') throw Object.assign(new Error(answer.word), { fault: answer });
  return answer;
}
