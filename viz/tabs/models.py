"""The models that are here, each with its card: scores, what it cannot do, how it learnt, under which licence.

Scores and the reliability of its answers come as numbers, too, so that the page draws them before any table.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gradio as gr

from headlight.model.foreign.importing import licence_in
from headlight.model.translate.reliability import measured_reliability
from headlight.viz.answers.cards import ModelCard, card_text
from headlight.viz.answers.markdown import Block, curve_of, licence_of, scores_of, sections
from headlight.viz.answers.service import Service
from headlight.viz.wire.rpc import answering
from headlight.viz.wire.widget import widget


def build(service: Service) -> gr.HTML:
    """Inside a `gr.Blocks`."""

    @answering
    def cards(values: Mapping[str, Any]) -> list[dict[str, Any]]:
        return cards_values(service)

    return widget("models/models", server=[cards])


def cards_values(service: Service) -> list[dict[str, Any]]:
    """Every model: those that are here, translators first and among them the default one, then those of the Hub."""

    def rank(card: ModelCard) -> tuple[bool, bool, bool, str]:
        return not card.downloaded, card.kind != "transformer", not card.default, card.name

    order = sorted(service.models(), key=rank)
    return [_card_values(service, card) for card in order]


def _card_values(service: Service, card: ModelCard) -> dict[str, Any]:
    folder = service.catalogue.folder(card) if card.downloaded else None
    text = card_text(folder) if folder else ""
    introduction, *rest = sections(text)
    summary: list[Block] = [block for block in introduction.blocks if block["tag"] == "p"][:1]
    return {
        "name": card.name,
        "kind": card.kind,
        "languages": card.languages,
        "parameters": card.parameters,
        "bytes": card.bytes,
        "default": card.default,
        "where": card.where,
        "downloaded": card.downloaded,
        "licence": licence_of(introduction.source) or licence_in(text),
        "summary": summary,
        "introduction": [block for block in introduction.blocks if block not in summary],
        "scores": next((scores for section in rest if (scores := scores_of(section.blocks))), None),
        "reliability": _reliability(folder) if folder else None,
        "sections": [
            {"title": section.title, "blocks": section.blocks, "curve": curve_of(section.blocks)} for section in rest
        ],
    }


def _reliability(folder: Path) -> dict[str, Any] | None:
    """What was measured of the model's own doubts: answers by stated probability; how many plain ones were right."""
    measured = measured_reliability(folder)
    if measured is None:
        return None
    held_out = measured.get("with_back") or measured["alone"]
    plain = measured.get("plain")
    return {
        "answers": held_out["answers"],
        "area": held_out["area"],
        "curve": held_out["calibration"],  # [answers, probability stated, share right] each
        "plain": {"right": plain["right"], "read": plain["sentences"]} if plain else None,
    }
