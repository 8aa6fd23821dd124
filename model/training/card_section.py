"""Replaces one section of a model card, and renews the list of files and the checksums that depend on it."""

from __future__ import annotations

import re
from pathlib import Path

from headlight.model.checkpoints.checksums import CARD_FILE, markdown_file_list, write_checksums

FILES_HEADING = "Files"


def replace_section(folder: Path, title: str, section: str) -> None:
    """Replace the section with the same heading; a section with a new heading goes before the data section."""
    path = folder / CARD_FILE
    card = path.read_text(encoding="utf-8") if path.exists() else f"# {folder.name}\n"
    result = _place(card, title)
    if result is None:
        other = _place(card, "Data") or _place(card, FILES_HEADING)
        start = other[0] if other else len(card)
        result = start, start
    before, after = card[: result[0]].rstrip(), card[result[1] :].lstrip("\n")
    path.write_text(f"{before}\n\n{section.strip()}\n\n{after}", encoding="utf-8")


def refresh_checksums(folder: Path) -> None:
    """Renew the card's list of files and SHA256SUMS after a file of the folder has changed."""
    replace_section(folder, FILES_HEADING, markdown_file_list(folder))
    path = folder / CARD_FILE
    path.write_text(path.read_text(encoding="utf-8").rstrip() + "\n", encoding="utf-8")
    write_checksums(folder)


def _place(card: str, title: str) -> tuple[int, int] | None:
    """Start and end of a section."""
    begun = re.search(rf"^## {re.escape(title)}$", card, re.MULTILINE)
    if begun is None:
        return None
    ended = re.compile(r"^## ", re.MULTILINE).search(card, begun.end())
    return begun.start(), ended.start() if ended else len(card)
