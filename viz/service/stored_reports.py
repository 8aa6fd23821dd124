"""Reports on bundled models that are stored outside their folders, in `assets/faithfulness` and `assets/atlas`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from headlight.model.checkpoints.reports import is_current
from headlight.model.checkpoints.shipped import ASSETS
from headlight.viz.field_values import check_text
from headlight.viz.service.head_roles import MAX_NAME_LENGTH
from headlight.viz.service.service import Service

FAITHFULNESS, ATLAS = "faithfulness", "atlas"


def stored_report(service: Service, kind: str, name: str) -> dict[str, Any] | None:
    """Return the report on these exact weights, or `None`."""
    card = service.catalogue.card(name, "transformer")
    report = _read_report(kind, card.name)
    folder = service.catalogue.folder(card) if report and card.downloaded else None
    return report if report and folder and is_current(report, folder) else None


def atlas_function(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Call: the atlas of a model's heads. `model/experiments/atlas.py` documents the values."""

    def head_atlas(values: Mapping[str, Any]) -> dict[str, Any]:
        name = check_text("model", values.get("model", ""), limit=MAX_NAME_LENGTH)
        return {"atlas": stored_report(service, ATLAS, name or service.default)}

    return head_atlas


@cache
def _read_report(kind: str, name: str) -> dict[str, Any] | None:
    path = ASSETS / kind / f"{name}.json"
    if "/" in name or not path.exists():
        return None
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return results
