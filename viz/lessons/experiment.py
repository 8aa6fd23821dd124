"""An experiment of a step: controls as data, and one function that computes from them what the page then draws.

    def spread(given: Given) -> Found:
        found = spread_of(int(given.values["width"]), given.values["seed"])
        return Found((Lines(…),), numbers={"raw": found.raw})

    Step("spread", code=Code(attention_scores, "* scale"), formula=…, picks=(), about=(),
         experiment=Experiment(spread, (Choice("width", ("4", "64"), "64", slides=True), Button("seed"))))

The function gives equal answers to equal questions, which are kept. It takes about a second at most, since visitors
wait for one another. A newer setting of a visitor replaces the one that still waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from headlight.model.records import FloatArray, Translation, TranslationRequest
from headlight.model.translate.judge import Judge
from headlight.model.translate.translator import Translator
from headlight.viz.answers.service import Service
from headlight.viz.errors import PageError
from headlight.viz.labels import labels
from headlight.viz.lessons.controls import Control, checked
from headlight.viz.lessons.drawn import Found
from headlight.viz.lessons.tensors import MOST_CAPTURED, capture, expected_numbers


@dataclass(frozen=True)
class Given:
    """What an experiment computes from: what is set, and the visitor's sentence with its model."""

    values: Mapping[str, Any]  # of each control, checked
    request: TranslationRequest
    service: Service

    @property
    def translation(self) -> Translation:
        """The sentence as it was translated."""
        return self.service.translate(self.request)

    @property
    def tokens(self) -> list[str]:
        """The tokens of the source, as they are shown."""
        return [label.text for label in labels(self.translation.source_tokens)]

    @contextmanager
    def translator(self) -> Iterator[Translator]:
        """The model of the sentence, which stays in memory until the end of the block."""
        with self.service.hold(self.request.model) as translator:
            yield translator

    @contextmanager
    def judge(self) -> Iterator[Judge]:
        """The classifier."""
        with self.service.hold_judge() as judge:
            yield judge

    def tensors(self, *names: str) -> Mapping[str, FloatArray]:
        """Probes of one pass over the sentence and its translation, by their paths."""
        translation = self.translation
        with self.translator() as translator:
            if expected_numbers(names, translation, translator) > MOST_CAPTURED:
                raise PageError("text", "too_long_to_show")
            return capture(self.service, translation, translator, names)


@dataclass(frozen=True)
class Experiment:
    """What a visitor may set, and what is computed from it."""

    run: Callable[[Given], Found]
    controls: tuple[Control, ...] = ()

    def given(self, values: Any, request: TranslationRequest, service: Service) -> Given:
        """What it computes from, after every check."""
        return Given(checked(self.controls, values, service.settings), request, service)

    def as_json(self) -> dict[str, Any]:
        """As the page reads it."""
        return {"controls": [control.as_json() for control in self.controls]}
