"""Changes of words: the sentence that a model reads instead, and which of its characters no token may look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from headlight.model.errors import RequestError, range_error
from headlight.model.intervention_records import Change, InputChange
from headlight.model.records import Span, Token
from headlight.model.text.cleaning import clean_text, is_blank


class EditedText(NamedTuple):
    """A sentence, and its hidden characters."""

    text: str
    hidden: tuple[Span, ...]


def apply_input_changes(text: str, changes: Sequence[Change]) -> EditedText:
    """Carry out the changes of words, all of which count the characters of `text`, a tidied sentence."""
    words = sorted((change for change in changes if isinstance(change, InputChange)), key=lambda change: change.start)
    parts: list[str] = []
    hidden: list[Span] = []
    length = read = end = 0  # characters written; of the text, those read, and those that the last change covers
    for change in words:
        if change.end > len(text):
            raise range_error("end", change.end, change.start + 1, len(text))
        if change.start < end:
            raise RequestError("words_overlap", field="interventions", start=change.start, end=change.end)
        remaining, new = text[read : change.start], _replacement(change, text)
        read = end = change.end
        if not new and not text[end : end + 1].isalnum():  # the two spaces around a word that is left out become one
            if remaining.endswith(" "):
                remaining = remaining[:-1]
            elif not length + len(remaining) and text[end : end + 1] == " ":
                read += 1
        length += len(remaining)
        if change.action == "mask":
            hidden.append(Span(length, length + len(new)))
        length += len(new)
        parts += [remaining, new]
    changed = "".join([*parts, text[read:]])
    if is_blank(changed):
        raise RequestError("nothing_left", field="interventions")
    return EditedText(changed, tuple(hidden))


def _replacement(change: InputChange, text: str) -> str:
    if change.action == "mask":
        return text[change.start : change.end]
    if change.action == "erase" or is_blank(change.text):
        return ""
    return clean_text(change.text, field="interventions")


def masked_token_positions(tokens: Sequence[Token], hidden: Sequence[Span]) -> tuple[int, ...]:
    """The places of the tokens that have any of these characters."""
    return tuple(
        place
        for place, token in enumerate(tokens)
        if not token.special and any(token.start < span.end and token.end > span.start for span in hidden)
    )
