// Builds the parts of the translate widget and connects them with it.

import { on, state } from '../core/state.js';
import { desk, setForm } from '../parts/desk.js';
import { CollapsedForm } from './collapsed.js';
import { Examples } from './examples.js';
import { LanguageHint } from './language-hint.js';
import { Live } from './live.js';
import { ModelChooser } from './model-chooser.js';
import { mountOptions } from './options.js';
import { RequestForm } from './request-form.js';
import { SentenceField } from './sentence-field.js';
import { SourcePanel } from './source-panel.js';
import { TranslationPanel } from './translation-panel.js';

/**
 * Creates all parts and appends them to the root of `widget`. They call its methods.
 * @param {any} widget
 * @param {import('../core/server.js').Server} server
 */
export function buildForm(widget, server) {
  const { config, root } = widget;
  const translate = () => widget.translate();
  const options = mountOptions(config, translate);
  const translateWith = (model) => widget.translateText(model, field.text);
  const resend = (pendingRequest) => widget.resendLinkRequest(pendingRequest);
  const chooser = new ModelChooser(config, server, { translateWith, resend, translateAgain: translate });
  const { menu, offer, rules, languages } = chooser;
  const continueFrom = (ids) => widget.translate({ prefix: ids, target: null });
  const undo = () => {
    options.clearTarget();
    widget.translate();
  };
  const translationPanel = new TranslationPanel({ language: languages[1], server, continueFrom, undo });
  const field = new SentenceField({ limit: config.limits.characters, sameSize: translationPanel.text, translate });
  const examples = new Examples(config.examples, config.models, (model, text) => widget.translateText(model, text));
  const hint = new LanguageHint({ onSelect: (offer) => widget.applyOffer(offer), getText: () => field.text });
  field.element.addEventListener('input', () => {
    hint.draw();
    widget.onTyped();
  });
  const context = { model: () => chooser.model, pending: () => (state.busy ? widget.request.text : null) };
  const actions = {
    send: (values) => widget.sendLiveRequest(values),
    cancelRequest: () => widget.tracker.stop(),
    onInvalid: () => widget.outdate('not_translated'),
  };
  const live = new Live(field, { ...actions, ...context });
  const sourcePanel = new SourcePanel({
    language: languages[0],
    above: [menu.element, examples.element],
    field,
    below: [offer.element, rules],
    hint: hint.element,
    live,
    options: options.element,
    onClick: () => (state.busy ? widget.stop() : widget.translate()),
  });
  const fields = new RequestForm({ sentence: field, chooser, options, expandOptions: () => sourcePanel.expandOptions(true) });
  const collapsed = new CollapsedForm(root, () => field.focus());
  setForm({ root, field: field.element, sentences: { source: field.shades, target: translationPanel.text } });
  const { headline, change, ribbons, before, after } = desk();
  root.append(
    headline,
    change,
    sourcePanel.element,
    ribbons,
    before,
    translationPanel.element,
    after,
    options.element,
    collapsed.element,
    translationPanel.popup,
  );
  const updateTab = () => (root.dataset.tab = state.tab);
  on(['tab'], updateTab);
  updateTab();
  return { chooser, translationPanel, field, examples, hint, live, sourcePanel, fields, collapsed };
}
