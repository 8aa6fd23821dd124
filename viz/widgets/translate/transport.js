// Transport of requests and messages: a streamed response, or Gradio's queue on shared GPUs, which the queue assigns to
// visitors.

import { CallError } from '../core/server.js';

/**
 * @typedef {import('messages').TranslationMessage} TranslationMessage
 * @typedef {(message: TranslationMessage) => void} OnMessage
 * @typedef {(turn: number, isBroken?: boolean) => void} OnLost `turn`: number of the request
 */

const GATEWAY_ERRORS = new Set([502, 503, 504]); // a proxy cannot reach the server
const RELOAD_DELAY_MS = 1000; // milliseconds to read the message before the page reloads
/** @type {Set<TranslationMessage['what']>} */
const FINAL_MESSAGES = new Set(['answer', 'error', 'busy']); // these end a response

/**
 * Create the page's transport. `onMessage(message)` receives messages; `onLost(turn, isBroken)` is called if a request
 * gets no answer: `isBroken` if its connection broke, else the server is unreachable.
 * @param {{ through_queue: boolean }} config
 * @param {import('../core/server.js').Server} server
 * @param {import('../core/server.js').Mounted['trigger']} trigger
 * @param {OnMessage} onMessage
 * @param {OnLost} onLost
 */
export function createTransport({ through_queue }, server, trigger, onMessage, onLost) {
  return through_queue ? new GradioTransport(trigger) : new StreamTransport(server, onMessage, onLost);
}

/** Uses Gradio's queue: messages are set as the widget's value. */
export class GradioTransport {
  /** @param {import('../core/server.js').Mounted['trigger']} trigger */
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
  /**
   * @param {import('../core/server.js').Server} server
   * @param {OnMessage} onMessage
   * @param {OnLost} onLost
   */
  constructor(server, onMessage, onLost) {
    this.server = server;
    this.onMessage = onMessage;
    this.onLost = onLost;
    /** @type {AbortController | null} of the running request */
    this.abortController = null;
  }

  async send(request) {
    this.stop();
    const abortController = new AbortController();
    this.abortController = abortController;
    let isOver = false;
    /** @type {OnMessage} */
    const onMessage = (message) => {
      isOver = FINAL_MESSAGES.has(message.what);
      this.onMessage(message);
    };
    try {
      await this.server.stream('stream_messages', request, onMessage, abortController.signal);
      if (!abortController.signal.aborted && !isOver)
        this.onMessage({ what: 'error', field: 'text', word: 'our_fault', values: {}, turn: request.turn });
    } catch (error) {
      if (abortController.signal.aborted) return;
      if (error instanceof CallError) this.reportFailure(error, request);
      else this.onLost(request.turn, true);
    } finally {
      if (this.abortController === abortController) this.abortController = null;
    }
  }

  /**
   * Report a rejected request. If the server has another version and does not know the call, reload the page; the URL
   * keeps the request. Gateway errors come from a proxy.
   * @param {CallError} error
   * @param {{ turn: number, live?: boolean }} request
   */
  reportFailure({ status, fault }, { turn, live }) {
    if (fault.word === 'unreachable' && GATEWAY_ERRORS.has(status)) this.onLost(turn);
    else if (fault.word === 'unknown_endpoint' && !live) {
      this.onLost(turn);
      setTimeout(() => location.reload(), RELOAD_DELAY_MS);
    } else this.onMessage({ ...fault, what: 'error', field: 'text', turn });
  }

  /** Abort the request; the server sees the disconnect. */
  stop() {
    this.abortController?.abort();
    this.abortController = null;
  }
}
