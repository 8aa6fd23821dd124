// Detects a lost server: after some seconds without a message, pings it.

import { isReachable } from './server.js';

const SILENCE_MS = 3000; // milliseconds without a message
const RETRY_MS = 2000; // milliseconds between two pings of a lost server

/** Calls `lost` if the server disappears while a message is expected. */
export class Watchdog {
  constructor(lost) {
    this.lost = lost;
    /** @type {Timer | undefined} */
    this.timer = undefined;
  }

  /** Call this on each message if more are expected. */
  reset() {
    this.stop();
    const timer = setTimeout(async () => {
      const isUp = await isReachable();
      if (this.timer !== timer) return; // a message arrived meanwhile
      if (isUp) this.reset();
      else this.lost();
    }, SILENCE_MS);
    this.timer = timer;
  }

  /** Call this when the connection breaks. */
  connectionLost() {
    this.stop();
    this.lost();
  }

  /** Call this when no more messages are expected. */
  stop() {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}

/** Waits until a lost server responds. Resolves to false if `isWanted()` turns false, or if the server was never lost. */
export async function waitForServer(isWanted, isDown = false) {
  while (isWanted() && !(await isReachable())) {
    isDown = true;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
  return isDown && isWanted();
}
