"""One section of a model card anew, with the list of files and the checksums that follow from it."""

from __future__ import annotations

import re
from pathlib import Path

from headlight.model.folders.checksums import CARD, files_in_words, write_sums

FILES = "Files"


def replace_section(folder: Path, title: str, section: str) -> None:
    """Put a section, heading included, in the place of the one of its title; of a new title, before the data."""
    path = folder / CARD
    card = path.read_text(encoding="utf-8") if path.exists() else f"# {folder.name}\n"
    found = _place(card, title)
    if found is None:
        other = _place(card, "Data") or _place(card, FILES)
        start = other[0] if other else len(card)
        found = start, start
    before, after = card[: found[0]].rstrip(), card[found[1] :].lstrip("\n")
    path.write_text(f"{before}\n\n{section.strip()}\n\n{after}", encoding="utf-8")


def sign_again(folder: Path) -> None:
    """After a file of a folder has changed: the card lists it, and SHA256SUMS tells of it."""
    replace_section(folder, FILES, files_in_words(folder))
    path = folder / CARD
    path.write_text(path.read_text(encoding="utf-8").rstrip() + "\n", encoding="utf-8")
    write_sums(folder)


def _place(card: str, title: str) -> tuple[int, int] | None:
    """Where a section begins and ends."""
    begun = re.search(rf"^## {re.escape(title)}$", card, re.MULTILINE)
    if begun is None:
        return None
    ended = re.compile(r"^## ", re.MULTILINE).search(card, begun.end())
    return begun.start(), ended.start() if ended else len(card)
