"""`head_view` and `model_view` with the arguments of BertViz 1.4. They return or display Headlight's view."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headlight.model.recordings.builder import AxisTokens, NamedTokens, build_recording
from headlight.model.recordings.layers import parse_layers
from headlight.model.recordings.recording import Recording, RecordingError, Remark, require_index
from headlight.model.recordings.token_names import tokens_from_names, unchanged_names
from headlight.model.records import MapKind
from headlight.viz.notebook.view import Html, View

DISPLAY_MODES, HTML_ACTIONS = ("dark", "light"), ("view", "return")


@dataclass(frozen=True)
class Page(Html):
    """A stand-alone page that a notebook displays in a cell."""

    data: str  # HTML of the page, to write to a file; the name is that of `IPython.display.HTML`


@dataclass(frozen=True, kw_only=True)
class SharedArguments:
    """The arguments that `head_view` and `model_view` share."""

    attention: Any = None
    tokens: Sequence[str] | None = None
    sentence_b_start: int | None = None
    prettify_tokens: bool = True
    encoder_attention: Any = None
    decoder_attention: Any = None
    cross_attention: Any = None
    encoder_tokens: Sequence[str] | None = None
    decoder_tokens: Sequence[str] | None = None
    include_layers: Sequence[int] | None = None
    include_heads: Sequence[int] | None = None

    def recording(self) -> Recording:
        """Return the attention with its tokens."""
        arrays: dict[MapKind, Any] = {
            "self": self.attention,
            "encoder": self.encoder_attention,
            "decoder": self.decoder_attention,
            "cross": self.cross_attention,
        }
        arrays = {kind: value for kind, value in arrays.items() if value is not None}
        self._require_tokens(arrays)
        layers = {kind: parse_layers(value, label=kind, numbers=self.include_layers) for kind, value in arrays.items()}
        remarks = []
        if self.include_heads is not None:
            count = next(iter(layers.values())).arrays[0].shape[0]
            heads = [require_index("include_heads", head, range(count)) for head in self.include_heads]
            layers = {
                kind: part._replace(arrays=[np.ascontiguousarray(array[heads]) for array in part.arrays])
                for kind, part in layers.items()
            }
            remarks.append(Remark("heads", {"heads": ", ".join(str(head + 1) for head in heads), "count": count}))
        source = self.tokens if self.encoder_tokens is None else self.encoder_tokens
        target = self.decoder_tokens if {"decoder", "cross"} & set(arrays) else None
        axes = AxisTokens(self._names(source), self._names(target), remarks=[*remarks, *self._sentence_remarks()])
        return build_recording(layers, axes)

    def _require_tokens(self, arrays: dict[MapKind, Any]) -> None:
        if not arrays:
            raise RecordingError("There is no attention to show. Give attention, or encoder_attention= and its tokens.")
        if isinstance(self.attention, (list, tuple)) and not self.attention:
            raise RecordingError(
                "attention is empty: in today's transformers, outputs[-1] of BERT is its cross-attention, and it has "
                "none. Give outputs.attentions."
            )
        needed = {"self": ("tokens",), "encoder": ("encoder_tokens",), "decoder": ("decoder_tokens",)}
        for kind in arrays:
            for name in needed.get(kind, ("encoder_tokens", "decoder_tokens")):
                if getattr(self, name) is None:
                    attention = "attention" if kind == "self" else f"{kind}_attention"
                    raise RecordingError(f"{attention} needs {name}: tokenizer.convert_ids_to_tokens(input_ids[0]).")

    def _names(self, tokens: Sequence[str] | None) -> NamedTokens | None:
        if tokens is None:
            return None
        return tokens_from_names(tokens) if self.prettify_tokens else unchanged_names(tokens)

    def _sentence_remarks(self) -> list[Remark]:
        if self.sentence_b_start is None:
            return []
        tokens = self.tokens or ()
        number = require_index("sentence_b_start", self.sentence_b_start, range(len(tokens)))
        return [Remark("sentence_b", {"number": number + 1, "token": tokens[number]})]


def head_view(
    attention: Any = None,
    tokens: Sequence[str] | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    layer: int | None = None,
    heads: Sequence[int] | None = None,
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Sequence[str] | None = None,
    decoder_tokens: Sequence[str] | None = None,
    include_layers: Sequence[int] | None = None,
    html_action: str = "view",
) -> Any:
    """Show one head of a layer, a comparison of two `heads`, or by default the mean of all heads."""
    arguments = SharedArguments(
        attention=attention, tokens=tokens, sentence_b_start=sentence_b_start, prettify_tokens=prettify_tokens,
        encoder_attention=encoder_attention, decoder_attention=decoder_attention, cross_attention=cross_attention,
        encoder_tokens=encoder_tokens, decoder_tokens=decoder_tokens, include_layers=include_layers,
    )  # fmt: skip
    selected_heads = [] if heads is None else list(heads)
    recording = arguments.recording()
    if len(selected_heads) > 2:
        head_numbers = ", ".join(str(head + 1) for head in selected_heads)
        recording = replace(recording, remarks=(*recording.remarks, Remark("overlay", {"heads": head_numbers})))
    first = selected_heads[0] if selected_heads else "mean"
    view = View([recording], _selection(recording, layer, first), "")
    for head in selected_heads[2:]:
        require_index("heads", head, range(recording.of(view.kind).shape[1]))
    if len(selected_heads) > 1:
        view.pin(selected_heads[1])
    return present(view, html_action)


def model_view(
    attention: Any = None,
    tokens: Sequence[str] | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    display_mode: str = "dark",
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Sequence[str] | None = None,
    decoder_tokens: Sequence[str] | None = None,
    include_layers: Sequence[int] | None = None,
    include_heads: Sequence[int] | None = None,
    html_action: str = "view",
) -> Any:
    """Show all heads of all layers. The view follows the notebook's theme, whatever `display_mode` is."""
    require_choice("display_mode", display_mode, DISPLAY_MODES)
    recording = SharedArguments(
        attention=attention, tokens=tokens, sentence_b_start=sentence_b_start, prettify_tokens=prettify_tokens,
        encoder_attention=encoder_attention, decoder_attention=decoder_attention, cross_attention=cross_attention,
        encoder_tokens=encoder_tokens, decoder_tokens=decoder_tokens, include_layers=include_layers,
        include_heads=include_heads,
    ).recording()  # fmt: skip
    return present(View([recording], _selection(recording, None, 0), ""), html_action)


def present(view: Any, html_action: str) -> Any:
    """Return a page, or display the view in a notebook. Without a notebook, return the view."""
    require_choice("html_action", html_action, HTML_ACTIONS)
    if html_action == "return":
        return Page(view._repr_html_(), view.page())
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None:
        return view
    ipython.display.display(view)
    return None


def require_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise a `RecordingError` if a value is not one of the choices."""
    if value not in choices:
        raise RecordingError(f"{name} must be one of {', '.join(choices)}, but {value!r} was given.")


def _selection(recording: Recording, layer: int | None, head: int | str) -> dict[str, Any]:
    """Return the initial selection: BertViz opens the first kind, and the first layer unless one is named."""
    return {"kind": recording.kinds[0], "layer": layer, "head": head, "row": None, "column": None}
