"""Cleaning of user input before tokenisation."""

from __future__ import annotations

import re
import unicodedata

from headlight.model.errors import RequestError, repr_short

# Invisible characters in copied text. Joiners are kept, because emoji and several scripts need them.
_INVISIBLE = re.compile(r"[\u0000-\u0008\u000e-\u001b\u007f-\u0084\u0086-\u009f\u00ad\u200b\u2060\ufeff]")
_INVISIBLE_CATEGORIES = ("Cc", "Cf")  # Unicode categories of control and format characters, including joiners

# The Stanford parser's spelling of brackets and quotes → the standard spelling.
_DETOKENISE_RULES = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(`` ?| ?'')", '"'),
        (r"\\([/*])", r"\1"),
        (r"-l[rc]b- ?", "("),
        (r" ?-r[rc]b-", ")"),
        (r" (n't|'(?:s|re|ve|ll|d|m))\b", r"\1"),
        (r" ([.,;:!?…]+)(?= |$)", r"\1"),
        (r"` ", "'"),
    )
]


def clean_text(text: object, *, field: str = "text") -> str:
    """Return a text as one line, in Unicode's composed form NFC, without invisible characters.

    Raises:
        RequestError: the text is blank or invalid.
    """
    if not isinstance(text, str):
        raise RequestError("not_text", field=field, name=field, given=repr_short(text))
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise RequestError("half_character", field=field, name=field, place=error.start + 1) from error
    if is_blank(text):
        if field in ("target", "prefix"):
            raise RequestError("blank_words", field=field, name=field)
        raise RequestError("blank_text", field=field)
    # Compose last: an invisible character may have separated a letter from its accent.
    return " ".join(unicodedata.normalize("NFC", _INVISIBLE.sub("", text)).split())


def normalise_review(text: str) -> str:
    """Convert a text to lower case and undo a corpus's tokenisation ("it 's", "-lrb-")."""
    text = text.lower()
    for pattern, replacement in _DETOKENISE_RULES:
        text = pattern.sub(replacement, text)
    return text


def is_blank(text: str) -> bool:
    """Whether a text has only white space, control characters and joiners."""
    return all(character.isspace() or unicodedata.category(character) in _INVISIBLE_CATEGORIES for character in text)
