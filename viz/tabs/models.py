"""Models tab: the model cards with scores, limitations, training and licence.

Scores and reliability are also sent as numbers, so that the page can draw them above the tables.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gradio as gr

from headlight.model.families.importing import front_matter_licence
from headlight.model.translate.reliability import RELIABILITY_FILE, reliability_report
from headlight.viz.errors import escape_for_log
from headlight.viz.server.calls import CallTable
from headlight.viz.server.widget import widget
from headlight.viz.service.markdown import (
    Block,
    find_failure,
    find_licence,
    find_test_scores,
    find_training_curve,
    sections,
)
from headlight.viz.service.model_cards import UNREADABLE_ERRORS, ModelCard, card_text
from headlight.viz.service.service import Service

LIMITATIONS_TITLE = "What it cannot do"  # of the section with wrong answers

LOG = logging.getLogger(__name__)


def build(service: Service, calls: CallTable) -> gr.HTML:
    """Build the tab inside a `gr.Blocks`."""

    def model_cards(values: Mapping[str, Any]) -> list[dict[str, Any]]:
        return cards_json(service)

    calls.add(model_cards)
    return widget("models/models")


def cards_json(service: Service) -> list[dict[str, Any]]:
    """Return all models: installed ones with the default model and translators first, then those on the Hub."""

    def rank(card: ModelCard) -> tuple[bool, bool, bool, str]:
        return not card.downloaded, card.kind != "transformer", not card.default, card.name

    order = sorted(service.models(), key=rank)
    return [_card_values(service, card) for card in order]


def _card_values(service: Service, card: ModelCard) -> dict[str, Any]:
    folder = service.catalogue.folder(card) if card.downloaded else None
    text = card_text(folder) if folder else ""
    introduction, *other_sections = sections(text)
    summary: list[Block] = [block for block in introduction.blocks if block["tag"] == "p"][:1]
    return {
        "name": card.name,
        "kind": card.kind,
        "languages": card.languages,
        "parameters": card.parameters,
        "bytes": card.bytes,
        "default": card.default,
        "linear": card.is_additive,
        "where": card.location,
        "downloaded": card.downloaded,
        "licence": find_licence(introduction.source) or front_matter_licence(text),
        "summary": summary,
        "introduction": [block for block in introduction.blocks if block not in summary],
        "scores": next((scores for section in other_sections if (scores := find_test_scores(section.blocks))), None),
        "failure": next(
            (find_failure(section.blocks) for section in other_sections if section.title == LIMITATIONS_TITLE), None
        ),
        "reliability": _reliability(folder) if folder else None,
        "sections": [
            {"title": section.title, "blocks": section.blocks, "curve": find_training_curve(section.blocks)}
            for section in other_sections
        ],
    }


def _reliability(folder: Path) -> dict[str, Any] | None:
    """Return the measured calibration: answers by predicted probability, and the share of unflagged correct answers.

    The folder may be third-party, so a report with invalid values is omitted and logged.
    """
    try:
        report = reliability_report(folder)
        if report is None:
            return None
        scores = report.get("with_back") or report["alone"]
        curve = [
            [int(count), _check_share(predicted), _check_share(right)]
            for count, predicted, right in scores["calibration"]
        ]
        if not curve:
            return None
        unflagged = report.get("plain") or {}
        reviewed = (
            int(unflagged.get("read", 0)) if "right" in unflagged else 0
        )  # 0 until new answers have been reviewed
        return {
            "answers": int(scores["answers"]),
            "area": _check_share(scores["area"]),
            "curve": curve,  # rows of [answers, predicted probability, share right]
            "plain": {"right": int(unflagged["right"]), "read": reviewed} if reviewed else None,
        }
    except UNREADABLE_ERRORS as error:
        LOG.warning("%s: its %s is left out: %s", escape_for_log(folder), RELIABILITY_FILE, escape_for_log(error))
        return None


def _check_share(value: Any) -> float:
    if not 0 <= value <= 1:
        raise ValueError(f"{value} is not between 0 and 1")
    return float(value)
