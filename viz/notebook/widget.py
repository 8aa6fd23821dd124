"""The view as an anywidget: the selection is synchronised with Python, and large maps load on demand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import anywidget
import traitlets

from headlight.model.recordings.recording import Recording
from headlight.viz.notebook.iframe import widget_module
from headlight.viz.notebook.recording_json import HeadServer

MAX_HEADS_PER_MESSAGE = 256


class HeadlightWidget(anywidget.AnyWidget):
    """A view whose selection is synchronised with Python.

    `layer` is the number of a layer in its model or "mean"; `head` is an index, "mean" or "max"; `row` and `column` are
    token indices, or None.
    """

    _esm = widget_module()
    _state = traitlets.Unicode().tag(sync=True)
    _maps = traitlets.Dict().tag(sync=True)
    kind = traitlets.Unicode("cross").tag(sync=True)
    layer = traitlets.Union([traitlets.Int(), traitlets.Enum(["mean"])], default_value=0).tag(sync=True)
    head = traitlets.Union([traitlets.Int(), traitlets.Enum(["mean", "max"])], default_value=0).tag(sync=True)
    row = traitlets.Int(None, allow_none=True).tag(sync=True)
    column = traitlets.Int(None, allow_none=True).tag(sync=True)

    def __init__(
        self,
        state: Mapping[str, Any],
        maps: Mapping[str, bytes],
        recordings: Sequence[Recording],
        selection: Mapping[str, Any],
    ) -> None:
        super().__init__(_state=json.dumps(state, ensure_ascii=False), _maps=dict(maps), **selection)
        self._heads = [HeadServer(recording) for recording in recordings]
        self.on_msg(self._on_message)

    def _on_message(self, _: Any, message: Any, __: Any) -> None:
        """Handle map requests from the view; ignore other messages."""
        if not isinstance(message, dict) or message.get("what") != "maps":
            return
        heads = message["heads"][:MAX_HEADS_PER_MESSAGE]
        shape, content = self._heads[message["place"]].maps_for(message["kind"], heads, small=bool(message["small"]))
        reply = {name: message[name] for name in ("place", "kind", "small")}
        self.send({"what": "maps", "heads": heads, "shape": shape, **reply}, [content])
