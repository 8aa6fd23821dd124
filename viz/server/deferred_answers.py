"""Storage of answers that are too large to stream. The browser fetches them by a name that the stream sends.

Gradio's frontend reads, copies and compares every message: for 2.6 MB, 0.2 s of the 0.4 s after the forward pass.
"""

from __future__ import annotations

import secrets
from threading import Lock

from headlight.viz.errors import PageError
from headlight.viz.service.lru import ByteLru

DEFER_FROM_CHARACTERS = 300_000  # below this size, a second request costs more than it saves
MAX_BYTES = 64_000_000  # size of all answers; the oldest are evicted first


class DeferredAnswers:
    """Texts by random name. Thread-safe.

    A text can be fetched again until newer ones evict it, because a connection may break during the transfer.
    """

    def __init__(self, limit_bytes: int = MAX_BYTES) -> None:
        self._texts: ByteLru[bytes] = ByteLru(limit_bytes)
        self._lock = Lock()

    def store(self, text: str) -> str:
        """Store a text and return its name."""
        name, data = secrets.token_urlsafe(12), text.encode()
        with self._lock:
            self._texts.put(name, data, len(data))
        return name

    def get(self, name: object) -> bytes:
        """Return the text of this name as UTF-8. Raises `PageError` if it was evicted."""
        with self._lock:
            data = self._texts.peek(name) if isinstance(name, str) else None
        if data is None:
            raise PageError("data", "no_answer")
        return data
