"""What runs for each visitor: one thing at a time, which ends when they ask for another, say stop, or leave."""

from __future__ import annotations

from threading import Event, Lock
from typing import Any

import gradio as gr


class OneEach:
    """Whoever offers visitors something that takes a while."""

    def __init__(self) -> None:
        self._running: dict[str, Event] = {}
        self._lock = Lock()

    def stop(self, request: gr.Request) -> None:
        """The visitor wants no more of what runs."""
        self._begin(request.session_hash or "")

    def left(self, request: gr.Request) -> None:
        """The visitor closed the page."""
        with self._lock:
            running = self._running.pop(request.session_hash or "", None)
        if running:
            running.set()

    def _begin(self, visitor: str) -> Event:
        """Stop what this visitor's last request still does."""
        stop = Event()
        with self._lock:
            last = self._running.get(visitor)
            self._running[visitor] = stop
        if last:
            last.set()
        return stop


def with_turn(news: str, turn: Any) -> str:
    """News belong to one request of the browser; it passes over those of an older one."""
    return news if not isinstance(turn, int) else f'{{"turn":{turn},{news[1:]}'
