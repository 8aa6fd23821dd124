"""Import path of this package for child processes."""

from __future__ import annotations

import os
from pathlib import Path

import headlight


def python_path() -> str:
    """`PYTHONPATH` for a process that imports the same `headlight` as this one."""
    place = Path(headlight.__file__).resolve()
    folder = place.parents[1] if place.name == "__init__.py" else place.parent  # installed, or a checkout
    return os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH", ""))))
