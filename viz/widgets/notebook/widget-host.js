// The widget in the notebook's page: creates the iframe of the view and connects it to the widget's Python model. The
// iframe isolates the view's keyboard shortcuts, styles and width from the notebook.

const PAGE = ''; // HTML of the iframe, inserted by `viz/notebook/iframe.py`

const SYNCED_FIELDS = ['kind', 'layer', 'head', 'row', 'column'];

/** The host interface of the view in the iframe, backed by the widget's model. */
function createHost(model) {
  const abortController = new AbortController();
  const listen = (name, listener) => {
    model.on(name, listener);
    abortController.signal.addEventListener('abort', () => model.off(name, listener));
  };
  const getSelection = () => Object.fromEntries(SYNCED_FIELDS.map((name) => [name, model.get(name)]));
  return {
    getSelection,
    getState: () => JSON.parse(model.get('_state')),
    getMaps: () => model.get('_maps'),
    setSelection(changes) {
      for (const [name, value] of Object.entries(changes)) model.set(name, value);
      model.save_changes();
    },
    onSelectionChange(listener) {
      for (const name of SYNCED_FIELDS) listen(`change:${name}`, () => listener(getSelection()));
    },
    sendRequest: (request) => model.send(request),
    onMessage: (listener) => listen('msg:custom', listener),
    removeListeners: () => abortController.abort(),
  };
}

function render({ model, el }) {
  const frame = document.createElement('iframe');
  frame.title = 'Headlight';
  frame.style.cssText = 'display:block;width:100%;height:640px;border:0;background:transparent';
  Object.assign(frame, { headlight: () => createHost(model), srcdoc: PAGE });
  el.append(frame);
  return () => frame.remove();
}

export default { render };
