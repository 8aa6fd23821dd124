"""Corpus roles of a model's heads, loaded on demand from `roles.json` in the model's folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headlight.model.experiments.head_roles import read_roles
from headlight.viz.field_values import check_text
from headlight.viz.service.model_cards import UNREADABLE_ERRORS
from headlight.viz.service.service import Service

MAX_NAME_CHARACTERS = 200  # of a model


def make_roles_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `corpus_roles`, which maps a model name to `{"roles": …}`, or to None without a valid file.

    `model/experiments/head_roles.py` documents the values.
    """

    def corpus_roles(values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the roles of an allowed model."""
        name = check_text("model", values.get("model", ""), limit=MAX_NAME_CHARACTERS)
        card = service.catalogue.card(name or service.default, "transformer")
        if not card.downloaded:
            return {"roles": None}
        try:
            return {"roles": read_roles(service.catalogue.folder(card))}
        except UNREADABLE_ERRORS:  # files of third-party models may be invalid
            return {"roles": None}

    return corpus_roles
