"""Stored reports on a model's heads and on explanation methods. A report is valid only for the weights it measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from headlight.model.checkpoints.reports import HEADS, is_current, read_report
from headlight.model.checkpoints.shipped import ASSETS
from headlight.viz.field_values import check_text
from headlight.viz.service.head_roles import MAX_NAME_CHARACTERS
from headlight.viz.service.service import Service

FAITHFULNESS, ATLAS = "faithfulness", "atlas"


def load_stored_report(service: Service, kind: str, name: str) -> dict[str, Any] | None:
    """Return the report of this kind on the current weights of a model, or `None`."""
    card = service.catalogue.card(name, "transformer")
    report = _read_report(kind, card.name)
    folder = service.catalogue.folder(card) if report and card.downloaded else None
    return report if report and folder and is_current(report, folder) else None


def make_atlas_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `head_atlas`: the atlas of a model's heads, and the error rates of the heads that align best.

    `model/experiments/atlas.py` and `model/commands/heads.py` document the values.
    """

    def head_atlas(values: Mapping[str, Any]) -> dict[str, Any]:
        name = check_text("model", values.get("model", ""), limit=MAX_NAME_CHARACTERS)
        card = service.catalogue.card(name or service.default, "transformer")
        aligning = read_report(service.catalogue.folder(card), HEADS) if card.downloaded else None
        return {
            "atlas": load_stored_report(service, ATLAS, card.name),
            "aligning": aligning["heads"] if aligning else [],
        }

    return head_atlas


@cache
def _read_report(kind: str, name: str) -> dict[str, Any] | None:
    path = ASSETS / kind / f"{name}.json"
    if "/" in name or not path.exists():
        return None
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return results
