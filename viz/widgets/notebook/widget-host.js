// The widget's front end in the notebook's page: an iframe with the view, and the messages between the view and Python.
// The iframe isolates the view's keys, style and width from the notebook.

const PAGE = ''; // HTML of the iframe, inserted by `viz/notebook/iframe.py`

const SYNCED = ['kind', 'layer', 'head', 'row', 'column'];

/** The host interface of the view in the iframe, backed by the widget's model. */
function hostOf(model) {
  const left = new AbortController();
  const hear = (name, listener) => {
    model.on(name, listener);
    left.signal.addEventListener('abort', () => model.off(name, listener));
  };
  const look = () => Object.fromEntries(SYNCED.map((name) => [name, model.get(name)]));
  return {
    look,
    shown: () => JSON.parse(model.get('_shown')),
    maps: () => model.get('_maps'),
    tell(changes) {
      for (const [name, value] of Object.entries(changes)) model.set(name, value);
      model.save_changes();
    },
    hear(listener) {
      for (const name of SYNCED) hear(`change:${name}`, () => listener(look()));
    },
    ask: (asked) => model.send(asked),
    answers: (listener) => hear('msg:custom', listener),
    /** Removes the listeners when the iframe's page is unloaded. */
    leave: () => left.abort(),
  };
}

function render({ model, el }) {
  const frame = document.createElement('iframe');
  frame.title = 'Headlight';
  frame.style.cssText = 'display:block;width:100%;height:640px;border:0;background:transparent';
  Object.assign(frame, { headlight: () => hostOf(model), srcdoc: PAGE });
  el.append(frame);
  return () => frame.remove();
}

export default { render };
