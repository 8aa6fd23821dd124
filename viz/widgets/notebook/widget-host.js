// What runs in the notebook's own page: a frame with the view in it, and what passes between the view and Python. In a frame
// the view keeps its keys, its style and its width to itself.

const PAGE = ''; // the text of the frame's page: Python writes it here (`viz/notebook/iframe.py`)

const SYNCED = ['kind', 'layer', 'head', 'row', 'column'];

/** Requests of the framed view to the widget's model. */
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
    /** The frame's page is left: what listens there hears no more. */
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
