"""`neuron_view.show` with the arguments of BertViz 1.4: the query and key vectors behind one weight of a head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from headlight.model.recordings.recording import Recording, require_index
from headlight.viz.notebook.bertviz_calls import DISPLAY_MODES, present, require_choice
from headlight.viz.notebook.display import record
from headlight.viz.notebook.plot import figure
from headlight.viz.notebook.view import View


@dataclass(frozen=True)
class NeuronView:
    """The attention of a model as `view`, with the queries and keys of one head."""

    view: View
    query: np.ndarray  # [row, width]
    key: np.ndarray  # [column, width]
    scaling: float  # factor of the scores, usually 1 / √width
    theme: str

    def figure(self, row: int | None = None, column: int | None = None) -> go.Figure:
        """Draw the product of a row's query and a column's key. The default is the largest weight after column 0."""
        weights = self._weights()
        row_index = len(weights) - 1 if row is None else require_index("row", row, range(len(weights)))
        strongest = 1 + int(weights[row_index, 1:].argmax()) if weights.shape[1] > 1 else 0
        column_index = strongest if column is None else require_index("column", column, range(weights.shape[1]))
        tokens = self._recording.source
        vectors = (self.query[row_index], self.key[column_index], tokens[row_index], tokens[column_index])
        weight = float(weights[row_index, column_index])
        return figure("neurons", vectors, weight=weight, divisor=1 / self.scaling, theme=self.theme)

    @property
    def _recording(self) -> Recording:
        (recording,) = self.view.sources
        assert isinstance(recording, Recording)  # noqa: S101 (`show` records it)
        return recording

    def _weights(self) -> np.ndarray:
        return self._recording.attention_map("self", self.view.layer, self.view.head).weights

    def page(self) -> str:
        """Return the figure as a stand-alone page."""
        return str(self.figure().to_html(include_plotlyjs=True, full_html=True))

    def _repr_html_(self) -> str:
        return self.view._repr_html_() + str(self.figure().to_html(include_plotlyjs=True, full_html=False))


def show(
    model: Any,
    model_type: str,
    tokenizer: Any,
    sentence_a: str,
    sentence_b: str | None = None,
    display_mode: str = "dark",
    layer: int | None = None,
    head: int | None = None,
    html_action: str = "view",
) -> Any:
    """Show a head of any model of `transformers`, and its query-key products. `model_type` is ignored."""
    from headlight.model.external.attention_calls import unsupported_model_error  # these load PyTorch
    from headlight.model.external.model_inputs import Example, prepare_inputs
    from headlight.model.external.query_keys import record_query_keys

    require_choice("display_mode", display_mode, DISPLAY_MODES)
    recording = record(model, tokenizer, sentence_a, text_pair=sentence_b)
    number = recording.of("self").numbers[0] if layer is None else layer
    selection = {"kind": "self", "layer": number, "head": head or 0, "row": None, "column": None}
    view = View([recording], selection, "")
    inputs = prepare_inputs(model, tokenizer, Example(text=sentence_a, text_pair=sentence_b))
    calls = record_query_keys(model, inputs)
    if len(calls) != recording.of("self").shape[0]:  # some layers compute attention in an unsupported function
        raise unsupported_model_error(model)
    query_keys = calls[recording.of("self").layer_index(number)]
    query, key = (vectors[0, view.head].float().cpu().numpy() for vectors in (query_keys.query, query_keys.key))
    return present(NeuronView(view, query, key, query_keys.scaling, display_mode), html_action)
