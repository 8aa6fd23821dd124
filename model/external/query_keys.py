"""Queries and keys of every head, after rotation and normalisation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from headlight.model.external.attention_calls import AttentionCall, attention_calls
from headlight.model.external.switches import evaluation_mode


@dataclass(frozen=True)
class QueryKeys:
    """The vectors of one call of the attention function, and the factor of their dot products."""

    query: torch.Tensor  # [batch, head, row, width]
    key: torch.Tensor  # [batch, head, column, width]
    scaling: float


def record_query_keys(model: Any, inputs: Mapping[str, torch.Tensor]) -> list[QueryKeys]:
    """Run the model, and return the queries and keys in the order of the calls."""
    records: list[QueryKeys] = []

    def record(call: AttentionCall) -> None:
        keys = call.key.repeat_interleave(call.query.shape[1] // call.key.shape[1], dim=1)
        records.append(QueryKeys(call.query, keys, call.scaling))

    with torch.no_grad(), evaluation_mode(model), attention_calls(model, record):
        model(**inputs)
    return records
