"""Learn: lessons over the visitor's own sentence, with the live model's tensors and the running code.

Nothing of it is loaded before the tab is opened: the widget is a door, and the lessons' modules, words and style come
in files of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import gradio as gr

from headlight.viz.answers.service import Service
from headlight.viz.lessons import LESSONS
from headlight.viz.lessons.notebook import notebooks_of
from headlight.viz.lessons.running import experiments_of
from headlight.viz.lessons.tensors import tensors_of
from headlight.viz.lessons.training import training_calls
from headlight.viz.wire.rpc import answering
from headlight.viz.wire.widget import widget


def build(service: Service) -> gr.HTML:
    """Inside a `gr.Blocks`."""
    computing = (tensors_of(service), experiments_of(service), notebooks_of(service))
    quick = (read_lessons, *training_calls(service))  # runs have separate processes and a separate queue
    server = [answering(each, computes=False) for each in quick]
    return widget("learn/learn", server=[*server, *map(answering, computing)])


def page_closed(service: Service) -> Callable[[gr.Request], None]:
    """Stop the training run when the page closes."""

    def left(request: gr.Request) -> None:
        service.training.left_session(request.session_hash or "")

    return left


def read_lessons(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All lessons with their steps, and the source of the functions that these name."""
    return _lessons()


@cache
def _lessons() -> list[dict[str, Any]]:
    return [lesson.as_json() for lesson in LESSONS]
