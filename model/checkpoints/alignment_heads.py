"""Measurements of a model's cross-attention heads from its folder: word alignment and importance."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from headlight.model.checkpoints.reports import HEADS, PRUNING, read_report
from headlight.model.measures.alignment_head import AlignmentHead, CrossHeads


def best_head(folder: Path) -> AlignmentHead | None:
    """Return the head that aligns words best, or None if it was not measured on these weights."""
    return cross_heads(folder).best


def cross_heads(folder: Path) -> CrossHeads:
    """Return all measurements of cross-attention heads on these weights."""
    aligning = read_report(folder, HEADS) or {}
    pruning = read_report(folder, PRUNING) or {}
    return CrossHeads(_parse_heads(aligning.get("heads", [])), _parse_losses(pruning))


def _parse_heads(ranked_heads: list[dict[str, Any]]) -> tuple[AlignmentHead, ...]:
    """Return each head with its better row shift. A file may rank both shifts of a head."""
    results: dict[tuple[int, int], AlignmentHead] = {}
    for entry in ranked_heads:
        head = AlignmentHead(*(int(entry[name]) for name in AlignmentHead._fields))
        results.setdefault((head.layer, head.head), head)
    return tuple(results.values())


def _parse_losses(pruning: dict[str, Any]) -> dict[tuple[int, int], float]:
    ranked_heads = zip(pruning.get("order", []), pruning.get("losses", []), strict=True)
    results = {(int(layer), int(head)): float(loss) for (kind, layer, head), loss in ranked_heads if kind == "cross"}
    return {position: loss for position, loss in results.items() if math.isfinite(loss)}
