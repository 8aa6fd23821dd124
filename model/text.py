"""The sentence as a person typed it → the sentence as a model reads it."""

from __future__ import annotations

import re
import unicodedata

from model.errors import RequestError

# Invisible characters that come along when text is copied; joiners stay, since emoji and several scripts need them.
_STRAY = re.compile(r"[\u0000-\u0008\u000e-\u001b\u007f-\u0084\u0086-\u009f\u00ad\u200b\u2060\ufeff]")
_JOINERS = "\u200c\u200d\u200e\u200f"


def tidy(text: object, *, field: str = "text") -> str:
    """One line in Unicode's composed form, without stray invisible characters; an empty one is an error."""
    if not isinstance(text, str):
        raise RequestError(f"A sentence is text, but this is {type(text).__name__}.", field=field)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise RequestError(
            f"The text holds half a character at place {error.start + 1}. Type it again or copy it from elsewhere.",
            field=field,
        ) from error
    line = " ".join(_STRAY.sub("", unicodedata.normalize("NFC", text)).split())
    if not line.strip(_JOINERS + " "):
        raise RequestError("There is no text yet: type a sentence first.", field=field)
    return line
