"""Import path of this package for child processes."""

from __future__ import annotations

import os
from pathlib import Path

import headlight


def python_path() -> str:
    """Return the `PYTHONPATH` for a process that imports the same `headlight` as this one."""
    path = Path(headlight.__file__).resolve()
    folder = path.parents[1] if path.name == "__init__.py" else path.parent  # installed, or a checkout
    return os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH", ""))))
