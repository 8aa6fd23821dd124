"""Reports on a model in its folder: each names the weights that it was measured on, and those of others are not read.

`"weights"` of a report is the `weights_digest` of its folder.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headlight.model.checkpoints.checksums import weights_digest

KEY = "weights"
LARGEST = 1_000_000  # bytes; the roles of 112 heads have 36,000
HEADS = "heads.json"  # what `headlight heads` measured
ROLES = "roles.json"  # what `headlight steadiness` measured
PRUNING = "pruning.json"  # what `headlight importance --curve` measured
RELIABILITY = "reliability.json"  # what `headlight reliability` fitted
REPORTS = (HEADS, ROLES, PRUNING, RELIABILITY)


def read_report(folder: Path, name: str) -> dict[str, Any] | None:
    """The values of a report; None if it is missing or belongs to other weights.

    A folder may be untrusted: a file that is not a JSON object, or is far too large, counts as missing.
    """
    path = folder / name
    if not path.is_file() or path.stat().st_size > LARGEST:
        return None
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) and is_current(values, folder) else None


def is_current(values: dict[str, Any], folder: Path) -> bool:
    """Whether a report speaks of the weights that a folder holds."""
    return bool(values.get(KEY)) and values[KEY] == weights_digest(folder)
