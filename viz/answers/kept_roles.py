"""Corpus roles of a model's heads: `roles.json` of its folder, loaded on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headlight.model.experiments.steadiness import read_roles
from headlight.viz.answers.cards import ODD
from headlight.viz.answers.service import Service
from headlight.viz.values import check_text

LONGEST_NAME = 200  # characters


def roles_of(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """The function that a widget calls with a model's name: `{"roles": …}`, or None without a file.

    `model/experiments/steadiness.py` says what the values are.
    """

    def kept_roles(values: Mapping[str, Any]) -> dict[str, Any]:
        """The kept roles of a model that may be used here."""
        name = check_text("model", values.get("model", ""), limit=LONGEST_NAME)
        card = service.catalogue.card(name or service.default, "transformer")
        if not card.downloaded:
            return {"roles": None}
        try:
            return {"roles": read_roles(service.catalogue.folder(card))}
        except ODD:  # a model from elsewhere may bring a file that makes no sense
            return {"roles": None}

    return kept_roles
