"""Stores answers too large to stream; the stream carries a name and the browser fetches the answer.

Gradio's part of the page reads, copies and compares every message: 2.6 MB cost it 0.2 s of 0.4 s after the model.
"""

from __future__ import annotations

import secrets
from threading import Lock

from headlight.viz.errors import PageError
from headlight.viz.service.lru import ByteLru

DEFER_FROM_CHARACTERS = 300_000  # characters: below, a second request costs more than it saves
MAX_BYTES = 64_000_000  # bytes of all; the oldest leave first


class DeferredAnswers:
    """Texts by random name. Thread-safe.

    A text stays after it was fetched, until a newer one needs its room: a connection may be lost on the way.
    """

    def __init__(self, limit_bytes: int = MAX_BYTES) -> None:
        self._texts: ByteLru[bytes] = ByteLru(limit_bytes)
        self._lock = Lock()

    def store(self, text: str) -> str:
        """The name to fetch a text by."""
        name, data = secrets.token_urlsafe(12), text.encode()
        with self._lock:
            self._texts.put(name, data, len(data))
        return name

    def pop(self, name: object) -> bytes:
        """The text of this name as UTF-8. An error where it has left."""
        with self._lock:
            data = self._texts.peek(name) if isinstance(name, str) else None
        if data is None:
            raise PageError("data", "no_answer")
        return data
