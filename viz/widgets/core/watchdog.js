// Detects a lost server: after some seconds without a message, pings it.

import { asset } from './boot.js';

const SILENCE = 3000; // milliseconds without a message
const PAUSE = 2000; // milliseconds between two looks whether a lost server is back
const PATIENCE = 10_000; // milliseconds until a server that gives no sign counts as gone

/** Calls `lost` when a server that owes us a message has gone. */
export class Watchdog {
  constructor(lost) {
    this.lost = lost;
  }

  /** A message came, and more are to come. */
  wait() {
    this.end();
    const timer = setTimeout(async () => {
      const there = await reachable();
      if (this.timer !== timer) return; // a message came meanwhile
      if (there) this.wait();
      else this.lost();
    }, SILENCE);
    this.timer = timer;
  }

  /** The line to the server broke. */
  lose() {
    this.end();
    this.lost();
  }

  /** Nothing more is to come. */
  end() {
    clearTimeout(this.timer);
    this.timer = null;
  }
}

/** Wait until a lost server responds. Resolves to false if the wait was cancelled or the server only rejected the request. */
export async function returned(wanted, gone = false) {
  while (wanted() && !(await reachable())) {
    gone = true;
    await new Promise((over) => setTimeout(over, PAUSE));
  }
  return gone && wanted();
}

/** Whether the server that served this page still answers. */
async function reachable() {
  try {
    return (await fetch(asset('alive.json'), { cache: 'no-store', signal: AbortSignal.timeout(PATIENCE) })).ok;
  } catch {
    return false;
  }
}
