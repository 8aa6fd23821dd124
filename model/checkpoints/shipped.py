"""The shipped models by name, in a checkout, on a Space and in an installed wheel."""

from __future__ import annotations

from pathlib import Path

from headlight.model.errors import INSTALL_APP

ASSETS = Path(__file__).resolve().parents[2] / "assets"
MODELS = ASSETS / "models"
SHIPPED_NAMES = ("de-en", "en-de", "zh-en", "en-zh", "sentiment", "toy")  # all are in the models' distribution


def shipped_models() -> list[str]:
    """Return the names of the shipped models."""
    return sorted(path.parent.name for path in MODELS.glob("*/config.json"))


def find_folder(name: str | Path) -> Path:
    """Return the folder at this path, else the shipped model of this name."""
    folder = Path(name)
    shipped = MODELS / folder
    # A name without a separator can be a shipped model.
    return shipped if len(folder.parts) == 1 and not folder.exists() and shipped.is_dir() else folder


def missing_model_advice(folder: Path) -> str:
    """Return the advice for a model folder that does not exist."""
    if folder.as_posix() in SHIPPED_NAMES:
        return f"The trained models are part of the whole app: {INSTALL_APP}."
    return "Check the path, or download the model."
