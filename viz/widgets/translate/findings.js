// "What stands out": the strongest findings about the translation's attention. When the visitor opens the reliability
// panel, the server tests each finding by an experiment. A click on a finding shows its head and cell.

import { callWithRetry } from '../core/boot.js';
import { make, replace } from '../core/dom.js';
import { LatestRequest } from '../core/latest-request.js';
import { on, set, state } from '../core/state.js';
import { t } from '../core/i18n.js';

export class Findings {
  /**
   * @param {import('../core/server.js').Server | undefined} server
   * @param {HTMLDetailsElement} panel
   */
  constructor(server, panel) {
    this.server = server;
    this.panel = panel;
    /** @type {import('messages').FindingValues[]} */
    this.findings = [];
    this.title = make('h3', {});
    this.status = make('p', { class: 'quiet', role: 'status' });
    this.list = make('ol', {});
    this.error = make('p', { class: 'error', role: 'alert' });
    this.element = make('section', { class: 'findings' }, this.title, this.status, this.list, this.error);
    this.latest = new LatestRequest(this.list, this.error, 'error_our_fault');
    this.element.hidden = !server?.scan;
    panel.addEventListener('toggle', () => this.load());
    on(['translation', 'busy', 'language'], () => this.load());
  }

  /** Request the findings of the shown translation while the panel is open. */
  async load() {
    const { translation, busy } = state;
    const scan = this.server?.scan;
    this.title.textContent = t('scan_title');
    if (!scan || !translation || busy || !this.panel.open) {
      if (busy || !this.panel.open) this.latest.cancel();
      return;
    }
    const query = { request: translation.requestValues() };
    const key = JSON.stringify(query);
    if (key !== this.key) {
      replace(this.list);
      this.status.textContent = t('scan_waits');
    }
    this.key = key;
    await this.latest.load(
      key,
      (signal) => callWithRetry(scan, query, null, null, signal),
      (answer) => (this.findings = answer.findings),
    );
    if (this.latest.pending) return;
    this.draw();
  }

  draw() {
    const isDone = this.latest.loadedKey === this.key;
    this.status.textContent = isDone && !this.findings.length ? t('scan_none') : '';
    if (isDone) replace(this.list, ...this.findings.map((finding) => make('li', {}, this.button(finding))));
  }

  /** @param {import('messages').FindingValues} finding */
  button({ sentences, kind, layer, head, row, column }) {
    const view = { tab: 'heads', view: 'matrix', words: false, special: true, written: null, preview: null };
    const show = () => set({ ...view, kind, layer, head, row, column });
    return make('button', { type: 'button', onclick: show }, sentences[state.language] ?? sentences.en);
  }
}
