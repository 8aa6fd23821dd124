"""Changes of the input: the edited sentence that the model reads, and the characters that attention masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from headlight.model.errors import RequestError, range_error
from headlight.model.intervention_records import Change, InputChange
from headlight.model.records import Span, Token
from headlight.model.text.cleaning import clean_text, is_blank


class EditedText(NamedTuple):
    """An edited sentence and the characters that attention masks."""

    text: str
    hidden: tuple[Span, ...]  # positions in `text`


def apply_input_changes(text: str, changes: Sequence[Change]) -> EditedText:
    """Apply the input changes among `changes`. Their positions count characters of `text`, a cleaned sentence."""
    input_changes = sorted(
        (change for change in changes if isinstance(change, InputChange)), key=lambda change: change.start
    )
    parts: list[str] = []
    hidden: list[Span] = []
    length = position = end = 0  # length of the new text, position in the old text, end of the last change
    for change in input_changes:
        if change.end > len(text):
            raise range_error("end", change.end, change.start + 1, len(text))
        if change.start < end:
            raise RequestError("words_overlap", field="interventions", start=change.start, end=change.end)
        unchanged, replacement = text[position : change.start], _replacement(change, text)
        position = end = change.end
        if not replacement and not text[end : end + 1].isalnum():  # merge the two spaces around a removed word
            if unchanged.endswith(" "):
                unchanged = unchanged[:-1]
            elif not length + len(unchanged) and text[end : end + 1] == " ":
                position += 1
        length += len(unchanged)
        if change.action == "mask":
            hidden.append(Span(length, length + len(replacement)))
        length += len(replacement)
        parts += [unchanged, replacement]
    changed = "".join([*parts, text[position:]])
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
    """Return the indices of the tokens that overlap hidden characters."""
    return tuple(
        index
        for index, token in enumerate(tokens)
        if not token.special and any(token.start < span.end and token.end > span.start for span in hidden)
    )
