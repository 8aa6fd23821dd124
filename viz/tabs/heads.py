"""Heads tab: head wall, large map, comparison, roles.

The answer of a translation contains all maps and measures. The calls of this tab export files, measure effects, score
heads against hand-aligned sentences, and return stored roles and reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, astuple
from typing import Any

import gradio as gr

from headlight.model.checkpoints.base64_arrays import encode_array
from headlight.model.commands.heads import count_heads
from headlight.model.errors import CommandError
from headlight.model.experiments.effects import (
    LIKELIEST,
    EffectSummary,
    Rival,
    make_effect_maps,
    measured_effects,
    summarise_effects,
)
from headlight.model.experiments.importance import AttentionPart
from headlight.model.measures.alignment import AlignmentCounts, parse_links
from headlight.model.measures.trace_records import Float64Array
from headlight.model.records import KINDS
from headlight.model.text.gold_links import AlignedPair, parse_segmented
from headlight.viz.errors import PageError, repr_short
from headlight.viz.export.files import Exporter
from headlight.viz.field_values import check_choice, check_head
from headlight.viz.request_fields import parse_selection
from headlight.viz.server.calls import CallTable
from headlight.viz.server.widget import widget
from headlight.viz.service.head_roles import make_roles_call
from headlight.viz.service.service import Service
from headlight.viz.service.stored_reports import make_atlas_call
from headlight.viz.service.word_query import make_rival_values, parse_word

MAX_LISTED_HEADS = 5  # heads of "Which heads wrote this word?"
PAIRS_PER_CALL = 4  # lines of a link file per call, so that other requests get a turn


def build(service: Service, calls: CallTable) -> gr.HTML:
    """Build the tab inside a `gr.Blocks`."""
    calls.add(Exporter(service).export, make_links_call(service))
    calls.add(make_effects_call(service), make_measured_effect_call(service), make_effect_maps_call(service))
    calls.add(make_roles_call(service), make_atlas_call(service), computes=False)
    return widget("heads/heads-tab", "explorer")


def make_links_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `count_links`, which scores every head against a few hand-aligned sentence pairs."""

    def count_links(values: Mapping[str, Any]) -> dict[str, Any]:
        rows, is_reversed = values.get("rows"), values.get("reversed") is True
        if not isinstance(rows, list) or not 1 <= len(rows) <= PAIRS_PER_CALL:
            raise PageError("links", "bad_links", {"given": repr_short(rows)})
        pairs = [parse_gold_pair(row, is_reversed=is_reversed) for row in rows]
        for pair in pairs:
            service.check({"text": pair.source.text, "model": values.get("model"), "target": pair.target.text})
        counts: dict[tuple[int, ...], list[AlignmentCounts]] = service.run_on_translator(
            str(values.get("model")), count_heads, pairs
        )
        return {"heads": [[*head, [list(astuple(pair)) for pair in errors]] for head, errors in counts.items()]}

    return count_links


def make_effects_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `strongest_effects`: the effect of every head on a word, or on its lead over a rival.

    The effects are predicted; the largest are also measured.
    """

    def strongest_effects(values: Mapping[str, Any]) -> dict[str, Any]:
        translation, position, rival = parse_word(service, values)
        summary: EffectSummary = service.run_on_translator(
            translation.request.model, summarise_effects, translation, position, MAX_LISTED_HEADS, rival
        )
        heads = {kind: effects.round(4).tolist() for kind, effects in summary.heads.items()}
        strongest = [asdict(head) for head in summary.strongest]
        return {"heads": heads, "strongest": strongest, "rival": make_rival_values(service, translation, rival)}

    return strongest_effects


def make_measured_effect_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `measured_effect`: the effect of one head, measured by a run without it."""

    def measured_effect(values: Mapping[str, Any]) -> dict[str, Any]:
        translation, position, rival = parse_word(service, values)
        kind = parse_selection({"kind": values.get("kind")}, service.settings).kind
        layers, heads = translation.attention.of(kind).shape[:2]
        layer, head = check_head(values, layers, heads)
        part = AttentionPart(kind, layer, head)
        (effect,) = service.run_on_translator(
            translation.request.model, measured_effects, translation, position, [(part,)], rival
        )
        return {"measured": round(effect, 6)}

    return measured_effect


def make_effect_maps_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `map_effects`: the effects of all heads of a kind, cell by cell.

    They are effects on the words of the translation, or with `lead` on their leads over the likeliest rivals. `place`
    selects a single word, and `rival` its rival.
    """

    def map_effects(values: Mapping[str, Any]) -> dict[str, Any]:
        kind = check_choice("kind", values.get("kind"), choices=KINDS)
        default_rival: Rival = LIKELIEST if values.get("lead") is True else None
        position, named_rival = None, None
        if values.get("place") is None:
            translation = service.translate(service.check(values.get("request")))
        else:
            translation, position, named_rival = parse_word(service, values)
        rival = default_rival if named_rival is None else named_rival
        maps: Float64Array = service.run_on_translator(
            translation.request.model, make_effect_maps, translation, kind, rival, position
        )
        return {"effects": encode_array(maps), "rival": make_rival_values(service, translation, named_rival)}

    return map_effects


def parse_gold_pair(row: Any, *, is_reversed: bool) -> AlignedPair:
    """Parse a row `[first, second, links]`; `is_reversed`: the model translates the second into the first."""
    if not (isinstance(row, list) and len(row) == 3 and all(isinstance(text, str) for text in row)):
        raise PageError("links", "bad_links", {"given": repr_short(row)})
    first, second = parse_segmented(row[0]), parse_segmented(row[1])
    try:
        pair = AlignedPair(first, second, parse_links(row[2], len(first.spans), len(second.spans)))
    except CommandError as error:
        raise PageError("links", "bad_links", {"given": repr_short(row[2])}) from error
    return pair.reversed() if is_reversed else pair
