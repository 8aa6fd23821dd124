// How a request reaches the server and its messages come back. The response to the request tells them as they come; where a
// GPU is lent, Gradio's queue does, as it says whom the GPU is for.

const HEAD = 'data: ';

const WIDGET = 'widget-translate';

/** The way of this page. `hear(message)` gets each message, `lost(turn)` the number of a request whose line broke. */
export function wayOf({ through_queue }, trigger, hear, lost) {
  return through_queue ? new Queued(trigger) : new Direct(hear, lost);
}

/** Through Gradio: its part of the page sets the widget's value to each message. */
export class Queued {
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
export class Direct {
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
    try {
      const response = await fetch(this.address, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          component_id: this.widget,
          fn_name: 'ask',
          session_hash: this.session,
          data: JSON.stringify(request),
        }),
        signal: running.signal,
      });
      if (response.ok) await told(response, this.hear);
      else this.refuse(await response.json(), request.turn);
    } catch {
      if (!running.signal.aborted) this.lost(request.turn);
    } finally {
      if (this.running === running) this.running = null;
    }
  }

  refuse(fault, turn) {
    if (fault.word === 'unknown_endpoint') location.reload(); // another version of the page is served by now
    this.hear({ ...fault, what: 'error', field: 'text', turn });
  }

  /** Let go of what was asked: the server hears that. */
  stop() {
    this.running?.abort();
    this.running = null;
  }
}

/** Hear every message of a response: a line of JSON each. */
export async function told(response, hear) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let held = []; ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    const [rest, ...lines] = value.split('\n'); // a large message comes in many pieces
    held.push(rest);
    for (const line of lines) {
      const message = held.join('');
      if (message.startsWith(HEAD)) hear(JSON.parse(message.slice(HEAD.length)));
      held = [line];
    }
  }
}
