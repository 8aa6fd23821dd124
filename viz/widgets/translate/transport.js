// Transport of requests and messages: a streamed response, or Gradio's queue if GPUs are lent, because GPUs are assigned
// to visitors through the queue.

import { CallError } from '../core/server.js';

const GATEWAY_ERRORS = new Set([502, 503, 504]); // a proxy cannot reach the server
const RELOAD_DELAY_MS = 1000; // milliseconds to read the message before the page reloads
const FINAL_MESSAGES = new Set(['answer', 'error', 'busy']); // these end a response

/**
 * Create the page's transport. `hear(message)` receives messages; `lost(turn, broke)` is called if a request gets no
 * answer: `broke` if its connection broke, else the server is unreachable.
 */
export function createTransport({ through_queue }, server, trigger, hear, lost) {
  return through_queue ? new GradioTransport(trigger) : new StreamTransport(server, hear, lost);
}

/** Uses Gradio's queue: messages are set as the widget's value. */
export class GradioTransport {
  constructor(trigger) {
    this.trigger = trigger;
  }

  send(request) {
    this.trigger('submit', { request: JSON.stringify(request) });
  }

  stop(turn) {
    this.trigger('stop', { turn });
  }
}

/** Streams messages from the server. */
export class StreamTransport {
  constructor(server, hear, lost) {
    this.server = server;
    this.hear = hear;
    this.lost = lost;
    this.running = null; // aborts the running request
  }

  async send(request) {
    this.stop();
    const running = new AbortController();
    this.running = running;
    let last = null;
    const hear = (message) => {
      last = message;
      this.hear(message);
    };
    try {
      await this.server.stream('stream_messages', request, hear, running.signal);
      if (!running.signal.aborted && !FINAL_MESSAGES.has(last?.what))
        this.hear({ what: 'error', field: 'text', word: 'our_fault', turn: request.turn });
    } catch (error) {
      if (running.signal.aborted) return;
      if (error instanceof CallError) this.reportFailure(error, request);
      else this.lost(request.turn, true);
    } finally {
      if (this.running === running) this.running = null;
    }
  }

  /**
   * Report a refused request. If the server has another version and does not know the call, reload the page; the URL
   * keeps the request. Gateway errors come from a proxy.
   */
  reportFailure({ status, fault }, { turn, live }) {
    if (fault.word === 'unreachable' && GATEWAY_ERRORS.has(status)) this.lost(turn);
    else if (fault.word === 'unknown_endpoint' && !live) {
      this.lost(turn);
      setTimeout(() => location.reload(), RELOAD_DELAY_MS);
    } else this.hear({ ...fault, what: 'error', field: 'text', turn });
  }

  /** Abort the request; the server sees the disconnect. */
  stop() {
    this.running?.abort();
    this.running = null;
  }
}
