// The widget in the notebook's page: an iframe with the view, and the messages between the view and Python. The iframe
// isolates the view's keyboard shortcuts, styles and width from the notebook.

const PAGE = ''; // HTML of the iframe, inserted by `viz/notebook/iframe.py`

const SYNCED = ['kind', 'layer', 'head', 'row', 'column'];

/** The host interface of the view in the iframe, backed by the widget's model. */
function createHost(model) {
  const abortController = new AbortController();
  const listen = (name, listener) => {
    model.on(name, listener);
    abortController.signal.addEventListener('abort', () => model.off(name, listener));
  };
  const selection = () => Object.fromEntries(SYNCED.map((name) => [name, model.get(name)]));
  return {
    look: selection,
    shown: () => JSON.parse(model.get('_state')),
    maps: () => model.get('_maps'),
    tell(changes) {
      for (const [name, value] of Object.entries(changes)) model.set(name, value);
      model.save_changes();
    },
    hear(listener) {
      for (const name of SYNCED) listen(`change:${name}`, () => listener(selection()));
    },
    ask: (request) => model.send(request),
    answers: (listener) => listen('msg:custom', listener),
    /** Remove the listeners when the iframe's page unloads. */
    leave: () => abortController.abort(),
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
