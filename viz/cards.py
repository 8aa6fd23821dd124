"""Which models are in a folder, and what can be said of each without loading it."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

CONFIG, CARD, SUMS, HEADS = "config.json", "README.md", "SHA256SUMS", "heads.json"
LANGUAGE = re.compile(r"[a-z]{2,3}")
LARGEST_HEADER = 100_000_000  # bytes: what the format of the weights allows

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """One model, as a menu or a list shows it."""

    name: str  # of its folder
    kind: Literal["transformer", "classifier"]
    languages: tuple[str, ...]  # source, then target; empty where nothing tells
    parameters: int
    bytes: int  # on disk, all files
    summary: str  # the first paragraph of its card
    revision: str  # changes with the model's files, but not with its card
    best_head: dict[str, int] | None = None  # "layer" and "head" of cross-attention that align words
    default: bool = False


def read_cards(folder: Path) -> tuple[ModelCard, ...]:
    """The cards of all models below a folder, by name; a folder that makes no sense is logged and left out."""
    if not folder.is_dir():
        return ()
    cards = []
    for inner in sorted(folder.iterdir()):
        if (inner / CONFIG).is_file() and not inner.name.startswith("."):  # .name.part: a half-written one
            try:
                cards.append(_read_card(inner))
            except (OSError, ValueError, TypeError, KeyError) as error:
                LOG.warning("The model folder %s is left out: %s", inner, error)
    return tuple(cards)


def _read_card(folder: Path) -> ModelCard:
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    text = (folder / CARD).read_text(encoding="utf-8") if (folder / CARD).exists() else ""
    head, body = _front_matter(text)
    return ModelCard(
        name=folder.name,
        kind="classifier" if config.get("kind") == "classifier" else "transformer",
        languages=_languages(folder, head),
        parameters=sum(_parameters(path) for path in sorted(folder.glob("*.safetensors"))),
        bytes=sum(path.stat().st_size for path in folder.iterdir() if path.is_file()),
        summary=_summary(body),
        revision=_revision(folder),
        best_head=_best_head(folder),
    )


def _best_head(folder: Path) -> dict[str, int] | None:
    """Of the heads that align words, the plainest in the rows that write them (shift 0)."""
    if not (folder / HEADS).exists():
        return None
    ranked: list[dict[str, Any]] = json.loads((folder / HEADS).read_text(encoding="utf-8"))
    best = next((each for each in ranked if each["shift"] == 0), None)
    return None if best is None else {"layer": int(best["layer"]), "head": int(best["head"])}


def _front_matter(text: str) -> tuple[str, str]:
    """What stands between two lines of dashes at the top of a card, and the rest."""
    match = re.match(r"---\r?\n(.*?)\r?\n---\r?\n", text, flags=re.DOTALL)
    return (match[1], text[match.end() :]) if match else ("", text)


def _languages(folder: Path, head: str) -> tuple[str, ...]:
    """From the card, or the recipe of the same name, or a name such as de-en."""
    if match := re.search(r"^language:(.*(?:\r?\n[ \t]*-.*)*)", head, flags=re.MULTILINE):
        return tuple(LANGUAGE.findall(match[1]))
    recipe = folder.parents[1] / "recipes" / f"{folder.name}.json"
    if recipe.is_file():
        values: dict[str, Any] = json.loads(recipe.read_text(encoding="utf-8"))
        named = (values.get("source_language"), values.get("target_language"))
        return tuple(language for language in named if isinstance(language, str))
    parts = folder.name.split("-")
    return tuple(parts) if len(parts) == 2 and all(map(LANGUAGE.fullmatch, parts)) else ()


def _parameters(path: Path) -> int:
    """How many numbers were learned: what the header of a safetensors file lists, but for the scales of int8 rows."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > min(LARGEST_HEADER, path.stat().st_size):
            raise ValueError(f"{path.name} is cut short")
        header: dict[str, Any] = json.loads(file.read(length))
    return sum(
        math.prod(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__" and not (name.endswith(".scale") and name.removesuffix(".scale") in header)
    )


def _summary(body: str) -> str:
    """The first paragraph that is no heading, on one line."""
    paragraphs = (paragraph.strip() for paragraph in re.split(r"\n\s*\n", body))
    return next((" ".join(text.split()) for text in paragraphs if text and not text.startswith("#")), "")


def _revision(folder: Path) -> str:
    """Of the checksums that lie beside the files; without them, of sizes and times."""
    if (folder / SUMS).exists():
        lines = (folder / SUMS).read_text(encoding="utf-8", errors="replace").splitlines()
        said = "\n".join(line for line in lines if not line.endswith(CARD))
    else:
        about = [(path.name, path.stat()) for path in sorted(folder.iterdir()) if path.name != CARD]
        said = repr([(name, status.st_size, status.st_mtime_ns) for name, status in about])
    return hashlib.sha256(said.encode()).hexdigest()[:16]
