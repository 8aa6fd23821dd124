// A server that is gone says nothing, and neither does a busy one: after a while of silence, ask for a sign.

import { asset } from './boot.js';

const SILENCE = 3000; // milliseconds without news
const PATIENCE = 10_000; // milliseconds until a server that gives no sign counts as gone

/** Calls `lost` when a server that owes us news has gone. */
export class Silence {
  constructor(lost) {
    this.lost = lost;
  }

  /** News came, and more is to come. */
  wait() {
    this.end();
    const timer = setTimeout(async () => {
      const there = await reachable();
      if (this.timer !== timer) return; // news came meanwhile
      if (there) this.wait();
      else this.lost();
    }, SILENCE);
    this.timer = timer;
  }

  /** Nothing more is to come. */
  end() {
    clearTimeout(this.timer);
    this.timer = null;
  }
}

/** Whether the server that served this page still answers. */
async function reachable() {
  try {
    return (await fetch(asset('alive.json'), { cache: 'no-store', signal: AbortSignal.timeout(PATIENCE) })).ok;
  } catch {
    return false;
  }
}
