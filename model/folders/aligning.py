"""Which head of a model aligns words best, as its folder says: `heads.json`, the best first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headlight.model.measures.aligning import AligningHead

HEADS = "heads.json"  # what `headlight heads` measured


def best_head(folder: Path) -> AligningHead | None:
    """The best of the file; None where there is no file, or nothing in it."""
    path = folder / HEADS
    if not path.exists():
        return None
    ranked: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return AligningHead(*(int(ranked[0][name]) for name in AligningHead._fields)) if ranked else None
