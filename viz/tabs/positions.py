"""How a Transformer can be told where a token stands: every encoding of the registry, the shown model's own first."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import gradio as gr
import numpy as np

from headlight.model.core.config import TransformerConfig
from headlight.model.core.positions import POSITIONS, make_positions
from headlight.model.records import FloatArray, read_only
from headlight.viz.answers.service import Service
from headlight.viz.errors import PageError, shown
from headlight.viz.figures.positions import positions as draw
from headlight.viz.tabs.drawn import look_from
from headlight.viz.values import check_choice
from headlight.viz.wire.rpc import answering
from headlight.viz.wire.widget import widget
from headlight.viz.words import figure_words, words

SHORTEST, LONGEST = 2, 100  # positions
LEARNED = ("learned", "relative")  # their numbers come from training alone


def build(service: Service) -> gr.HTML:
    """Inside a `gr.Blocks`."""

    @answering
    def encoding(values: Mapping[str, Any]) -> dict[str, Any]:
        return encoding_values(service, values)

    return widget("positions/positions", server=[encoding])


def encoding_values(service: Service, values: Mapping[str, Any]) -> dict[str, Any]:
    """One encoding as a model of this size would have it, with its figure; where none is named, the model's own."""
    names = tuple(card.name for card in service.models() if card.kind == "transformer")
    name = check_choice("model", values.get("model"), choices=names)
    look = look_from(values)
    length = _length(values.get("length"))
    model = service.translator(name).model
    own = model.config.positions
    given = values.get("encoding")
    encoding = own if given is None else check_choice("encoding", given, choices=tuple(POSITIONS))
    trained = encoding == own and encoding in LEARNED
    if trained:
        table = _numbers(model.encoder.embedding.positions.picture(length))
    else:
        table = picture(model.config, encoding, length)
    form = form_of(encoding, trained=trained)
    about = {
        "encoding": encoding,
        "own": own,
        "choices": [own, *(each for each in POSITIONS if each != own)],
        "form": form,
        "trained": trained,
        "length": len(table) if table.ndim == 2 and table.size else length,
        "width": model.config.width_of_head if encoding == "rotary" else table.shape[-1],
        "heads": model.config.heads,
        "beside": model.config.position_width > 0 and form == "table",
        "base": model.config.rotary_base,
        "buckets": model.config.relative_buckets,
    }
    drawn = None
    if table.size:
        figure = draw(table, theme=look.theme, words=_figure_words(look.language, form))
        drawn = json.loads(figure.to_json())
    return about | {"periods": periods(model.config, encoding), "figure": drawn}


def form_of(encoding: str, *, trained: bool) -> str:
    """What can honestly be drawn of an encoding."""
    if encoding in LEARNED and not trained:
        return "untrained" if encoding == "learned" else "buckets"
    forms = {"none": "nothing", "rotary": "turns", "alibi": "bias", "relative": "bias"}
    return forms.get(encoding, "table")


@lru_cache(maxsize=128)
def picture(config: TransformerConfig, encoding: str, length: int) -> FloatArray:
    """What needs no training: `[positions, width]`, `[heads, queries, keys]`, or nothing where all is learned."""
    config = replace(config, positions=encoding)
    if encoding == "learned":
        return read_only(np.zeros((length, 0), dtype=np.float32))  # type: ignore[no-any-return]
    if encoding == "relative":  # which distances share a number: a table in which every bucket holds its own
        made: Any = make_positions(replace(config, heads=1, head_width=config.width_of_head), one_way=False)
        for bucket in range(config.relative_buckets):
            made.table.data[bucket] = bucket
        return _numbers(made.picture(length))
    return _numbers(make_positions(config, one_way=False).picture(length))


def periods(config: TransformerConfig, encoding: str) -> list[float] | None:
    """After how many positions each dimension's wave begins anew; nothing for encodings without waves."""
    if encoding == "rotary":
        width, base, order = config.width_of_head, config.rotary_base, "pairs"
    elif encoding in ("sinusoidal", "sinusoidal_halves"):
        width, base, order = config.position_width or config.d_model, 10_000.0, encoding
    else:
        return None
    half = (width + 1) // 2
    pairs = [dimension % half if order == "sinusoidal_halves" else dimension // 2 for dimension in range(width)]
    return [2 * math.pi * base ** (2 * pair / width) for pair in pairs]


def _numbers(tensor: Any) -> FloatArray:
    """A tensor of any device and type, closed to writing."""
    numbers: FloatArray = read_only(np.array(tensor.float().cpu().numpy(), dtype=np.float32))
    return numbers


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
