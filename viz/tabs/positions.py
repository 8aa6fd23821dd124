"""Positions tab: all position encodings of the registry, starting with the current model's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import gradio as gr

from headlight.model.core.positions import POSITIONS
from headlight.model.experiments.encodings import LEARNED_ENCODINGS, make_encoding_array, periods
from headlight.model.experiments.queries import position_table
from headlight.model.records import FloatArray
from headlight.viz.errors import PageError, repr_short
from headlight.viz.field_values import check_choice
from headlight.viz.figure_phrases import figure_words, phrases
from headlight.viz.figures.positions import positions as draw
from headlight.viz.server.calls import CallTable
from headlight.viz.server.widget import widget
from headlight.viz.service.service import Service
from headlight.viz.tabs.figure_json import parse_style

MIN_LENGTH, MAX_LENGTH = 2, 100  # positions


def build(service: Service, calls: CallTable) -> gr.HTML:
    """Build the tab inside a `gr.Blocks`."""

    def position_encoding(values: Mapping[str, Any]) -> dict[str, Any]:
        return encoding_json(service, values)

    calls.add(position_encoding)
    return widget("positions/positions")


def encoding_json(service: Service, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return an encoding with its figure, at the size of a model; by default the model's own encoding."""
    names = tuple(card.name for card in service.models() if card.kind == "transformer")
    name = check_choice("model", values.get("model"), choices=names)
    style = parse_style(values)
    length = _check_length(values.get("length"))
    config = service.model_info(name).model.config
    own = config.positions
    value = values.get("encoding")
    encoding = own if value is None else check_choice("encoding", value, choices=tuple(POSITIONS))
    is_trained = encoding == own and encoding in LEARNED_ENCODINGS
    if is_trained:
        table: FloatArray = service.run_on_translator(name, position_table, length)
    else:
        table = make_encoding_array(config, encoding, length)
    form = drawing_form(encoding, is_trained=is_trained)
    result = {
        "encoding": encoding,
        "own": own,
        "choices": [own, *(name for name in POSITIONS if name != own)],
        "form": form,
        "trained": is_trained,
        "length": len(table) if table.ndim == 2 and table.size else length,
        "width": config.resolved_head_width if encoding == "rotary" else table.shape[-1],
        "heads": config.heads,
        "beside": config.position_width > 0 and form == "table",
        "base": config.rotary_base,
        "offset": config.position_offset if encoding == own else 0,
        "closed": config.closed_waves and encoding == own,
        "buckets": config.relative_buckets,
    }
    figure_json = None
    if table.size:
        figure = draw(table, theme=style.theme, words=_figure_words(style.language, form))
        figure_json = json.loads(figure.to_json())
    return result | {"periods": periods(config, encoding), "figure": figure_json}


def drawing_form(encoding: str, *, is_trained: bool) -> str:
    """Return the form of the figure, which shows only values that the encoding determines."""
    if encoding in LEARNED_ENCODINGS and not is_trained:
        return "untrained" if encoding == "learned" else "buckets"
    forms = {"none": "nothing", "rotary": "turns", "alibi": "bias", "relative": "bias"}
    return forms.get(encoding, "table")


def _figure_words(language: str, form: str) -> dict[str, str]:
    texts = figure_words("positions", language)
    if form == "buckets":  # integers; doubled braces keep the placeholder for Plotly
        texts["added"] = phrases(language)["positions_figure_bucket"].replace("{bucket}", "%{{z:.0f}}")
        texts["head"] = phrases(language)["positions_figure_bucket_distance"].replace("{bucket}", "%{{y:.0f}}")
    return texts


def _check_length(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not MIN_LENGTH <= value <= MAX_LENGTH:
        raise PageError(
            "length", "not_whole", {"name": "length", "low": MIN_LENGTH, "high": MAX_LENGTH, "given": repr_short(value)}
        )
    return value
