"""How a Transformer can be told where a token stands: every encoding of the registry, the shown model's own first."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import gradio as gr

from headlight.model.core.positions import POSITIONS
from headlight.model.experiments.asked import position_table
from headlight.model.experiments.encodings import LEARNED, periods, picture
from headlight.model.records import FloatArray
from headlight.viz.answers.service import Service
from headlight.viz.errors import PageError, shown
from headlight.viz.figures.positions import positions as draw
from headlight.viz.tabs.drawn import look_from
from headlight.viz.values import check_choice
from headlight.viz.wire.rpc import answering
from headlight.viz.wire.widget import widget
from headlight.viz.words import figure_words, words

SHORTEST, LONGEST = 2, 100  # positions


def build(service: Service) -> gr.HTML:
    """Inside a `gr.Blocks`."""

    @answering
    def encoding(values: Mapping[str, Any]) -> dict[str, Any]:
        return encoding_values(service, values)

    return widget("positions/positions", server=[encoding])


def encoding_values(service: Service, values: Mapping[str, Any]) -> dict[str, Any]:
    """One encoding for a model of this size, with its figure; by default the model's own."""
    names = tuple(card.name for card in service.models() if card.kind == "transformer")
    name = check_choice("model", values.get("model"), choices=names)
    look = look_from(values)
    length = _length(values.get("length"))
    config = service.outline(name).model.config
    own = config.positions
    given = values.get("encoding")
    encoding = own if given is None else check_choice("encoding", given, choices=tuple(POSITIONS))
    trained = encoding == own and encoding in LEARNED
    if trained:
        table: FloatArray = service.run(name, position_table, length)
    else:
        table = picture(config, encoding, length)
    form = form_of(encoding, trained=trained)
    about = {
        "encoding": encoding,
        "own": own,
        "choices": [own, *(each for each in POSITIONS if each != own)],
        "form": form,
        "trained": trained,
        "length": len(table) if table.ndim == 2 and table.size else length,
        "width": config.width_of_head if encoding == "rotary" else table.shape[-1],
        "heads": config.heads,
        "beside": config.position_width > 0 and form == "table",
        "base": config.rotary_base,
        "offset": config.position_offset if encoding == own else 0,
        "closed": config.closed_waves and encoding == own,
        "buckets": config.relative_buckets,
    }
    drawn = None
    if table.size:
        figure = draw(table, theme=look.theme, words=_figure_words(look.language, form))
        drawn = json.loads(figure.to_json())
    return about | {"periods": periods(config, encoding), "figure": drawn}


def form_of(encoding: str, *, trained: bool) -> str:
    """What can honestly be drawn of an encoding."""
    if encoding in LEARNED and not trained:
        return "untrained" if encoding == "learned" else "buckets"
    forms = {"none": "nothing", "rotary": "turns", "alibi": "bias", "relative": "bias"}
    return forms.get(encoding, "table")


def _figure_words(language: str, form: str) -> dict[str, str]:
    said = figure_words("positions", language)
    if form == "buckets":  # whole numbers; the doubled braces leave this part to Plotly
        said["added"] = words(language)["positions_figure_bucket"].replace("{bucket}", "%{{z:.0f}}")
        said["head"] = words(language)["positions_figure_bucket_distance"].replace("{bucket}", "%{{y:.0f}}")
    return said


def _length(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not SHORTEST <= given <= LONGEST:
        raise PageError(
            "length", "not_whole", {"name": "length", "low": SHORTEST, "high": LONGEST, "given": shown(given)}
        )
    return given
