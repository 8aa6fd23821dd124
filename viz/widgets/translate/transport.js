// Transport of requests and messages. The response streams messages; if a
// GPU is lent, Gradio's queue does, as it says whom the GPU is for.

import { hasPhrase } from '../core/i18n.js';

const DATA_PREFIX = 'data: ';
const GATEWAY_ERRORS = new Set([502, 503, 504]); // gateway errors of a proxy
const RELOAD_DELAY_MS = 1000; // milliseconds to read why the page is loaded anew
const FINAL_MESSAGES = new Set(['answer', 'error', 'busy']); // with one of these a response ends

const WIDGET = 'widget-translate';

/** The way of this page. `hear(message)` gets each message, `lost(turn, broke)` the number of a request without an answer: its line `broke`, or nobody is there. */
export function createTransport({ through_queue }, trigger, hear, lost) {
  return through_queue ? new GradioTransport(trigger) : new StreamTransport(hear, lost);
}

/** Through Gradio: its part of the page sets the widget's value to each message. */
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

/** Straight to the widget's server function `ask`. */
export class StreamTransport {
  constructor(hear, lost) {
    this.hear = hear;
    this.lost = lost;
    const { components, root } = window.gradio_config;
    this.address = `${root}/gradio_api/component_server/`;
    this.widget = components.find(({ props }) => props.elem_id === WIDGET).id;
    this.session = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(36)).join('');
    this.running = null; // lets go of the request that is on its way
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
   * Of another version of the page, this server knows no such widget: it is loaded anew, and its address says what was asked for.
   * A proxy whose server has gone says so in words of its own.
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
    // It is a page of a proxy, or nothing.
  }
  return { word: 'unreachable', values: {} };
}

/** Read all messages of a response, one JSON object per line. Handler errors do not stop the stream. */
export async function readMessages(response, hear) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let held = []; ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    const [rest, ...lines] = value.split('\n'); // a large message comes in many pieces
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
