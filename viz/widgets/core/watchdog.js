// Detects a lost server: after some seconds without a message, pings it.

import { asset } from './boot.js';

const SILENCE_MS = 3000; // milliseconds without a message
const RETRY_MS = 2000; // milliseconds between two looks whether a lost server is back
const TIMEOUT_MS = 10_000; // milliseconds until a server that gives no sign counts as gone

/** Calls `lost` when a server that owes us a message has gone. */
export class Watchdog {
  constructor(lost) {
    this.lost = lost;
  }

  /** A message came, and more are to come. */
  reset() {
    this.stop();
    const timer = setTimeout(async () => {
      const there = await isReachable();
      if (this.timer !== timer) return; // a message came meanwhile
      if (there) this.reset();
      else this.lost();
    }, SILENCE_MS);
    this.timer = timer;
  }

  /** The line to the server broke. */
  connectionLost() {
    this.stop();
    this.lost();
  }

  /** Nothing more is to come. */
  stop() {
    clearTimeout(this.timer);
    this.timer = null;
  }
}

/** Wait until a lost server responds. Resolves to false if the wait was cancelled or the server only rejected the request. */
export async function waitForServer(wanted, gone = false) {
  while (wanted() && !(await isReachable())) {
    gone = true;
    await new Promise((over) => setTimeout(over, RETRY_MS));
  }
  return gone && wanted();
}

/** Whether the server that served this page still answers. */
async function isReachable() {
  try {
    return (await fetch(asset('alive.json'), { cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT_MS) })).ok;
  } catch {
    return false;
  }
}
