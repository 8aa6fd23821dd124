"""Reports on a model, stored in its folder.

The field `"weights"` of a report is the `weights_digest` of the weights that were measured. Reports on other weights
are ignored.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headlight.model.checkpoints.checksums import weights_digest

WEIGHTS_KEY = "weights"
MAX_BYTES = 1_000_000  # bytes; the roles of 112 heads take 36,000
HEADS = "heads.json"  # written by `headlight heads`
ROLES = "roles.json"  # written by `headlight steadiness`
PRUNING = "pruning.json"  # written by `headlight importance --curve`
RELIABILITY = "reliability.json"  # written by `headlight reliability`
REPORTS = (HEADS, ROLES, PRUNING, RELIABILITY)


def read_report(folder: Path, name: str) -> dict[str, Any] | None:
    """Return the values of a report, or None if it is missing or belongs to other weights.

    A folder may be untrusted: a file that is not a JSON object or is too large is treated as missing.
    """
    path = folder / name
    if not path.is_file() or path.stat().st_size > MAX_BYTES:
        return None
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) and is_current(values, folder) else None


def is_current(values: dict[str, Any], folder: Path) -> bool:
    """Whether a report was measured on the weights of a folder."""
    return bool(values.get(WEIGHTS_KEY)) and values[WEIGHTS_KEY] == weights_digest(folder)
