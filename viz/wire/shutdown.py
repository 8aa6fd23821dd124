"""The end of a server: what runs is finished, nothing new is begun, and then the process leaves.

A process that is the first of its container ignores every signal that it has no handler for, and elsewhere SIGTERM ends
it in the middle of an answer.
"""

from __future__ import annotations

import logging
import signal
import time
from types import FrameType

import gradio as gr

from headlight.viz.wire.gradio_inside import queue_of_page
from headlight.viz.wire.listening import ListeningQueue

GLANCE = 0.1  # seconds between two looks at whether a signal came
PATIENCE = 8.0  # seconds for what runs: whoever stops containers kills after ten
LAST_WORDS = 1.0  # seconds for the last answers to reach their streams
GOODBYE = 1  # seconds for open pages to let go: told so, they do at once

LOG = logging.getLogger(__name__)


def hear_signals() -> list[int]:
    """From now on SIGTERM and Ctrl-C end nothing at once, but come to stand in this list; a second one does.

    A list, no `Event`: a handler may run while its own thread holds an event's lock.
    """
    told: list[int] = []

    def leave(number: int, frame: FrameType | None) -> None:
        told.append(number)
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_DFL)

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, leave)
    return told


def stay(page: gr.Blocks, told: list[int]) -> None:
    """Serve a launched page until a signal came."""
    while not told:
        time.sleep(GLANCE)
    end(page)


def end(page: gr.Blocks) -> None:
    """Refuse what is new, wait for what runs, close the server."""
    queue = queue_of_page(page)
    if isinstance(queue, ListeningQueue):
        queue.line.close()
        if not queue.line.empty(PATIENCE):
            LOG.warning("After %.0f seconds an answer was still not made; it is given up.", PATIENCE)
        queue.spoken(LAST_WORDS)
    # Where uvicorn is forced to leave, it leaves out its own last step, and reports that as a fault.
    page.server.config.timeout_graceful_shutdown = GOODBYE
    page.close(verbose=False)
