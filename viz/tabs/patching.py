"""Activation patching of a minimal pair for the Change view, one batch per call.

The browser calls again with the number of known shares as `first`. Each call waits in the queue, so that other
visitors are served in between, and the browser can stop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headlight.model.experiments.importance import batch_size
from headlight.model.experiments.patching import PatchedShares, measure_patched_shares
from headlight.model.translate.reranking import own_choice
from headlight.viz.field_values import check_int
from headlight.viz.service.service import Service

MAX_PATCHES = 100_000  # more than any sentence within the limits has


def make_patching_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `patch_pair`, which patches the request's activations into the run on the sentence `other`.

    It returns the shares for the next batch of patches.
    """

    def patch_pair(values: Mapping[str, Any]) -> dict[str, Any]:
        first = check_int("first", values.get("first", 0), low=0, high=MAX_PATCHES)
        overrides: dict[str, Any] = {"interventions": None, "prefix": None, "target": None}
        request = own_choice(service.check(values.get("request"), **overrides))
        other = own_choice(service.check(values.get("request"), **overrides, text=values.get("other")))
        translation, other_translation = service.translate(request), service.translate(other)
        count = batch_size(service.model_info(request.model).model.config, other_translation)
        result: PatchedShares = service.run_on_translator(
            request.model, measure_patched_shares, translation, other_translation, first, count
        )
        return {
            "word": result.word,
            "other_word": result.other_word,
            "lead": round(result.lead, 4),
            "other_lead": round(result.other_lead, 4),
            "tokens": [token.text.strip() for token in other_translation.source_tokens],
            "first": first,
            "all": result.all,
            "shares": result.shares.round(4).tolist(),
        }

    return patch_pair
