// Transport of requests and messages: a streamed response, or Gradio's queue if GPUs are lent, because GPUs are assigned
// to visitors through the queue.

import { hasPhrase } from '../core/i18n.js';

const DATA_PREFIX = 'data: ';
const GATEWAY_ERRORS = new Set([502, 503, 504]); // a proxy cannot reach the server
const RELOAD_DELAY_MS = 1000; // milliseconds to read the message before the page reloads
const FINAL_MESSAGES = new Set(['answer', 'error', 'busy']); // these end a response

const WIDGET = 'widget-translate';

/**
 * Create the page's transport. `hear(message)` receives messages; `lost(turn, broke)` is called if a request gets no
 * answer: `broke` if its connection broke, else the server is unreachable.
 */
export function createTransport({ through_queue }, trigger, hear, lost) {
  return through_queue ? new GradioTransport(trigger) : new StreamTransport(hear, lost);
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

/** Calls the widget's server function directly. */
export class StreamTransport {
  constructor(hear, lost) {
    this.hear = hear;
    this.lost = lost;
    const { components, root } = window.gradio_config;
    this.address = `${root}/gradio_api/component_server/`;
    this.widget = components.find(({ props }) => props.elem_id === WIDGET).id;
    this.session = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(36)).join('');
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
      const response = await this.fetch(request, running.signal);
      if (!response.ok) {
        this.reportFailure(response.status, await errorOfResponse(response), request);
        return;
      }
      await readMessages(response, hear);
      if (!running.signal.aborted && !FINAL_MESSAGES.has(last?.what))
        this.hear({ what: 'error', field: 'text', word: 'our_fault', turn: request.turn });
    } catch {
      if (!running.signal.aborted) this.lost(request.turn, true);
    } finally {
      if (this.running === running) this.running = null;
    }
  }

  fetch(request, signal) {
    const body = { component_id: this.widget, fn_name: 'stream_messages', session_hash: this.session, data: JSON.stringify(request) };
    const headers = { 'content-type': 'application/json' };
    return fetch(this.address, { method: 'POST', headers, body: JSON.stringify(body), signal });
  }

  /**
   * Report a failed request. If the server has another version and does not know the widget, reload the page; the URL
   * keeps the request. Gateway errors come from a proxy.
   */
  reportFailure(status, fault, { turn, live }) {
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

/** Error phrase of a failed response from the server or from a proxy. */
async function errorOfResponse(response) {
  try {
    const { word, values } = await response.json();
    if (hasPhrase(`error_${word}`)) return { word, values };
  } catch {
    // The body is not JSON: an error page of a proxy, or empty.
  }
  return { word: 'unreachable', values: {} };
}

/** Read all messages of a response, one JSON object per line. Handler errors do not stop the stream. */
export async function readMessages(response, hear) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let held = []; ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    const [rest, ...lines] = value.split('\n'); // large messages arrive in several chunks
    held.push(rest);
    for (const line of lines) {
      const message = held.join('');
      held = [line];
      if (message.startsWith(DATA_PREFIX)) parseMessage(JSON.parse(message.slice(DATA_PREFIX.length)), hear);
    }
  }
}

function parseMessage(message, hear) {
  try {
    hear(message);
  } catch (error) {
    reportError(error);
  }
}
