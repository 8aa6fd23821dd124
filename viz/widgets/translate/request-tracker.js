// Numbers requests and accepts messages of the latest one only.

import { isBusy, Retry } from '../core/retry.js';
import { queueStatus } from '../core/queue-status.js';
import { waitForServer, Watchdog } from '../core/watchdog.js';
import { set, state } from '../core/state.js';
import { fetchDeferred } from './deferred-answer.js';
import { createTransport } from './transport.js';

/** @typedef {import('messages').TranslationMessage} TranslationMessage */

export class RequestTracker {
  /**
   * `onMessage(message)` receives messages; `onLost()` is called if the server disappears during a request.
   * @param {{ through_queue: boolean }} config
   * @param {import('../core/server.js').Server} server
   * @param {import('../core/server.js').Mounted['trigger']} trigger
   * @param {{ onMessage: (message: TranslationMessage) => void, onLost: () => void }} handlers
   */
  constructor(config, server, trigger, { onMessage, onLost }) {
    this.onMessage = onMessage;
    this.server = server;
    this.transport = createTransport(config, server, trigger, onMessage, (turn, isBroken) => this.onConnectionLost(turn, isBroken));
    this.watchdog = new Watchdog(onLost);
    this.number = 0;
    this.live = false; // whether the last request was a live one
    this.brokenRequest = null; // the request whose connection broke
    this.resendsAtOnce = false; // whether the broken request may be resent immediately
    this.retry = new Retry(); // retries if the server is busy
    /** @type {Timer | undefined} of the next retry */
    this.retryTimer = undefined;
  }

  startRequest(request) {
    this.request = request;
    this.retry = new Retry();
    this.send(request, false);
    set({ busy: true, unanswered: null, written: null });
    this.watchdog.reset();
  }

  /** Send the current sentence while typing; keep the shown translation until the answer. */
  startLiveRequest(request) {
    this.send({ ...request, live: true }, true);
    queueStatus.setPosition(this, null);
    this.watchdog.stop();
    set({ busy: false, unanswered: null, written: null });
  }

  send(request, live) {
    this.scheduleRetry(null);
    this.number += 1;
    this.live = live;
    this.transport.send({ turn: this.number, ...request });
  }

  /**
   * Whether to handle a message: it belongs to the latest request and is not a deferred answer, which is fetched. Updates
   * the queue position and the watchdog.
   * @param {TranslationMessage} message
   * @returns {message is Exclude<TranslationMessage, import('messages').ParcelMessage>}
   */
  shouldHandle(message) {
    // The first translation has no number, and Gradio may set it again after an early request.
    if ((message.turn ?? 0) !== this.number) return false;
    queueStatus.setPosition(this, message.what === 'waiting' ? message.before : null);
    if (state.busy) this.watchdog.reset();
    if (message.what !== 'parcel') return true;
    fetchDeferred(this.server, message).then(this.onMessage);
    return false;
  }

  /**
   * If the server is busy, schedule a retry and return true.
   * @param {import('messages').ErrorMessage} message
   */
  scheduleBusyRetry(message) {
    if (!isBusy(message)) return false;
    const resend = () => {
      this.send(this.request, false);
      this.watchdog.reset();
    };
    this.watchdog.stop();
    this.scheduleRetry(this.retry.pause(message), resend);
    return true;
  }

  /** Calls `resend` after `delay` milliseconds; a delay of `null` cancels the retry. */
  scheduleRetry(delay, resend = () => {}) {
    clearTimeout(this.retryTimer);
    this.retryTimer = delay === null ? undefined : setTimeout(resend, delay);
    queueStatus.setRetry(this, delay);
  }

  /** The request failed: its connection broke or the server is unreachable. Live requests are retried silently. */
  onConnectionLost(turn, isBroken) {
    if (turn !== this.number) return;
    if (this.live) this.onMessage({ what: 'error', field: 'text', word: 'cluster_gone', values: {}, turn });
    else if (state.busy) {
      this.resendsAtOnce = isBroken && this.brokenRequest !== this.request;
      if (isBroken) this.brokenRequest = this.request;
      this.watchdog.connectionLost();
    }
  }

  /** Whether to resend: the connection broke or the server is back, and no new request was sent since. */
  shouldResend() {
    const { number, resendsAtOnce } = this;
    this.resendsAtOnce = false;
    return waitForServer(() => number === this.number, resendsAtOnce);
  }

  finish() {
    this.watchdog.stop();
  }

  /** Ignore further messages of the request. */
  abandon() {
    this.scheduleRetry(null);
    this.number += 1;
    queueStatus.setPosition(this, null);
    this.watchdog.stop();
    set({ busy: false });
  }

  /** Cancel the request on the server and ignore further messages. */
  stop() {
    this.transport.stop(this.number);
    this.abandon();
  }
}
