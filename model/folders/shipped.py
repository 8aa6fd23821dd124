"""The models that come along, by name: the same in a checkout, on a Space and in an installed wheel."""

from __future__ import annotations

from pathlib import Path

ASSETS = Path(__file__).resolve().parents[2] / "assets"
MODELS = ASSETS / "models"


def shipped_models() -> list[str]:
    """Their names."""
    return sorted(path.parent.name for path in MODELS.glob("*/config.json"))


def find_folder(name: str | Path) -> Path:
    """A folder as it is named; where there is none of that name, the model that comes along under it."""
    folder = Path(name)
    shipped = MODELS / folder
    # One plain name: a longer path means a place, and nothing else lies there.
    return shipped if len(folder.parts) == 1 and not folder.exists() and shipped.is_dir() else folder
