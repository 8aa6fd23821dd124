"""Learn tab: lessons on the visitor's sentence, with the live model's tensors and the running code.

The widget is a placeholder: the modules, phrases and styles of the lessons are separate files, loaded when the tab is
opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import gradio as gr

from headlight.viz.lessons import LESSONS
from headlight.viz.lessons.build import read_build, run_build_line
from headlight.viz.lessons.experiment_server import make_experiment_call
from headlight.viz.lessons.notebook import make_notebook_call
from headlight.viz.lessons.quiz.class_calls import make_class_calls
from headlight.viz.lessons.quiz.forms import read_quiz
from headlight.viz.lessons.tensors import make_tensors_call
from headlight.viz.lessons.training_steps import make_training_calls
from headlight.viz.server.calls import CallTable
from headlight.viz.server.widget import widget
from headlight.viz.service.service import Service


def build(service: Service, calls: CallTable) -> gr.HTML:
    """Build the tab inside a `gr.Blocks`."""
    calls.add(make_tensors_call(service), make_experiment_call(service), make_notebook_call(service))
    # Training runs have separate processes and a separate queue.
    calls.add(read_lessons, *make_training_calls(service), computes=False)
    # The translator of the lesson Build has 432 weights, so its calls need no queue.
    calls.add(read_build, run_build_line, read_quiz, computes=False)
    queued_calls, direct_calls = make_class_calls(service.class_scores)
    calls.add(*queued_calls)
    calls.add(*direct_calls, computes=False)
    return widget("learn/learn-tab")


def read_lessons(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all lessons with their steps and the source code they show."""
    return _lessons_json()


@cache
def _lessons_json() -> list[dict[str, Any]]:
    return [lesson.as_json() for lesson in LESSONS]
