"""Functions that replace a section of a model card, and update its file list and the checksums."""

from __future__ import annotations

import re
from pathlib import Path

from headlight.model.checkpoints.checksums import CARD_FILE, markdown_file_list, write_checksums
from headlight.model.files import write_file

FILES_HEADING = "Files"


def replace_section(folder: Path, title: str, section: str) -> None:
    """Replace the section with this title, or insert it before the section "Data"."""
    path = folder / CARD_FILE
    card = path.read_text(encoding="utf-8") if path.exists() else f"# {folder.name}\n"
    span = _find_section(card, title)
    if span is None:
        next_section = _find_section(card, "Data") or _find_section(card, FILES_HEADING)
        start = next_section[0] if next_section else len(card)
        span = start, start
    before, after = card[: span[0]].rstrip(), card[span[1] :].lstrip("\n")
    write_file(path, f"{before}\n\n{section.strip()}\n\n{after}")


def refresh_checksums(folder: Path) -> None:
    """Update the card's file list and SHA256SUMS after a file of the folder has changed."""
    replace_section(folder, FILES_HEADING, markdown_file_list(folder))
    path = folder / CARD_FILE
    write_file(path, path.read_text(encoding="utf-8").rstrip() + "\n")
    write_checksums(folder)


def _find_section(card: str, title: str) -> tuple[int, int] | None:
    """Return the start and the end of a section, or None."""
    heading = re.search(rf"^## {re.escape(title)}$", card, re.MULTILINE)
    if heading is None:
        return None
    next_heading = re.compile(r"^## ", re.MULTILINE).search(card, heading.end())
    return heading.start(), next_heading.start() if next_heading else len(card)
