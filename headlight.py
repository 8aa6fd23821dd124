"""Headlight: translate a sentence and inspect the attention of every head.

This file is the package, and its `__path__` is the folder that contains it, so a checkout, a Space and an installed
wheel have the same import paths. Public names are imported on first use. Drawing a figure never imports PyTorch.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"
_FOLDER = Path(__file__).resolve().parent
__path__ = [str(_FOLDER), str(_FOLDER / "viz" / "public")]  # the second: `headlight.bertviz` and `headlight.errors`

if TYPE_CHECKING:
    from headlight.model.core.config import TransformerConfig
    from headlight.model.core.probes import watch
    from headlight.model.core.transformer import Transformer
    from headlight.model.experiments.patching import patching
    from headlight.model.experiments.reasons import account, effects, score_parts
    from headlight.model.experiments.scan import scan
    from headlight.model.external.head_effects import head_effects, remove_heads
    from headlight.model.external.token_attribution import attribute_tokens
    from headlight.model.recordings.recording import Recording
    from headlight.model.records import DecodingOptions, Intervention, Translation, TranslationRequest
    from headlight.model.translate.judge import Judge
    from headlight.model.translate.translator import Translator
    from headlight.viz.lessons.lesson_session import lesson
    from headlight.viz.notebook.display import compare, record, show
    from headlight.viz.notebook.head_measures import measure, roles
    from headlight.viz.notebook.plot import figure
    from headlight.viz.public import bertviz, errors

_MODULES = {
    "DecodingOptions": "headlight.model.records",
    "Intervention": "headlight.model.records",
    "Judge": "headlight.model.translate.judge",
    "Recording": "headlight.model.recordings.recording",
    "Transformer": "headlight.model.core.transformer",
    "TransformerConfig": "headlight.model.core.config",
    "Translation": "headlight.model.records",
    "TranslationRequest": "headlight.model.records",
    "Translator": "headlight.model.translate.translator",
    "account": "headlight.model.experiments.reasons",
    "attribute_tokens": "headlight.model.external.token_attribution",
    "compare": "headlight.viz.notebook.display",
    "effects": "headlight.model.experiments.reasons",
    "figure": "headlight.viz.notebook.plot",
    "head_effects": "headlight.model.external.head_effects",
    "lesson": "headlight.viz.lessons.lesson_session",
    "measure": "headlight.viz.notebook.head_measures",
    "patching": "headlight.model.experiments.patching",
    "record": "headlight.viz.notebook.display",
    "remove_heads": "headlight.model.external.head_effects",
    "roles": "headlight.viz.notebook.head_measures",
    "scan": "headlight.model.experiments.scan",
    "score_parts": "headlight.model.experiments.reasons",
    "show": "headlight.viz.notebook.display",
    "watch": "headlight.model.core.probes",
}
__all__ = [
    "DecodingOptions",
    "Intervention",
    "Judge",
    "Recording",
    "Transformer",
    "TransformerConfig",
    "Translation",
    "TranslationRequest",
    "Translator",
    "account",
    "attribute_tokens",
    "bertviz",
    "compare",
    "effects",
    "errors",
    "figure",
    "head_effects",
    "lesson",
    "measure",
    "patching",
    "record",
    "remove_heads",
    "roles",
    "scan",
    "score_parts",
    "show",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name in ("bertviz", "errors"):  # modules
        return import_module(f"headlight.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from headlight.model.errors import require_packages

    with require_packages(f"headlight.{name}"):
        return getattr(import_module(_MODULES[name]), name)


@contextmanager
def exit_on_interrupt() -> Iterator[None]:
    """Let Ctrl-C end the process at once while modules are imported, without a traceback."""
    is_main_thread = threading.current_thread() is threading.main_thread()
    if not is_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


PAGE_COMMANDS = {
    "run": ("start the page", "headlight.viz.run_command"),
    "serve": ("run models for page servers on a Ray cluster", "headlight.viz.serve_command"),
    "space": ("create or update the app as a Space on Hugging Face", "headlight.viz.space.command"),
    "static": ("write the page as a folder that computes in the browser", "headlight.viz.static_site.command"),
    "survey": (
        "measure every head on thousands of sentences; search or plot the results",
        "headlight.viz.survey_command",
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command `headlight`, with the subcommands of the model and of the page."""
    with exit_on_interrupt():
        from headlight.model.commands.main import main as run_command

    return run_command(arguments, extra_commands=PAGE_COMMANDS)


if __name__ == "__main__":  # `python -m headlight COMMAND` in a checkout
    sys.exit(main())
