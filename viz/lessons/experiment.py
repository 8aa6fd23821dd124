"""An experiment of a step: controls as data, and one function that computes the figures from them.

    def spread(given: Given) -> Found:
        found = spread_of(int(given.values["width"]), given.values["seed"])
        return Found((Lines(…),), numbers={"raw": found.raw})

    Step("spread", code=Code(attention_scores, "* scale"), formula=…,
         experiment=Experiment(spread, (Choice("width", ("4", "64"), "64", slides=True), Button("seed"))))

The function gives equal answers to equal questions, which are kept. It takes about a second at most, since visitors
wait for one another. A newer setting of a visitor replaces the one that still waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headlight.model.records import FloatArray, Translation, TranslationRequest
from headlight.model.translate.choosing import own_choice
from headlight.model.translate.outline import Outline
from headlight.viz.answers.service import Service
from headlight.viz.answers.work import Work
from headlight.viz.errors import PageError
from headlight.viz.labels import labels
from headlight.viz.lessons.controls import Control, checked
from headlight.viz.lessons.drawn import Found
from headlight.viz.lessons.tensors import MOST_CAPTURED, capture, expected_numbers

MOST_NUMBERS = 100_000_000  # of a model that is run many times


@dataclass(frozen=True)
class Given:
    """Input of an experiment: control values, sentence and model."""

    values: Mapping[str, Any]  # of each control, checked
    request: TranslationRequest
    service: Service

    @property
    def translation(self) -> Translation:
        """The sentence as it was translated."""
        return self.service.translate(self.request)

    @property
    def own_translation(self) -> Translation:
        """What its model chooses alone: a changed copy of the model is compared with that."""
        return self.service.translate(own_choice(self.request))

    @property
    def tokens(self) -> list[str]:
        """The tokens of the source, as they are shown."""
        return [label.text for label in labels(self.translation.source_tokens)]

    @property
    def outline(self) -> Outline:
        """Shape and vocabularies of the sentence's model, without loading it."""
        return self.service.outline(self.request.model)

    @property
    def small_outline(self) -> Outline:
        """The same of a model that may run many times without holding others up."""
        if self.outline.model.parameter_count() > MOST_NUMBERS:
            raise PageError("model", "too_large_to_try", {"limit": MOST_NUMBERS // 1_000_000})
        return self.outline

    def run(self, work: Work, *given: Any) -> Any:
        """Call `work(translator, *given)` on the backend of the sentence's model."""
        return self.service.run(self.request.model, work, *given)

    def run_judge(self, work: Work, *given: Any) -> Any:
        """The same of the classifier whose verdict is a sum of contributions."""
        return self.service.run_judge(work, *given, linear=True)

    def tensors(self, *names: str) -> Mapping[str, FloatArray]:
        """Probes of one pass over the sentence and its translation, by their paths."""
        translation, outline = self.translation, self.outline
        if expected_numbers(names, translation, outline) > MOST_CAPTURED:
            raise PageError("text", "too_long_to_show")
        return capture(self.service, translation, outline, names)


@dataclass(frozen=True)
class Experiment:
    """An experiment: its controls and its function."""

    run: Callable[[Given], Found]
    controls: tuple[Control, ...] = ()

    def given(self, values: Any, request: TranslationRequest, service: Service) -> Given:
        """Validated inputs of an experiment."""
        return Given(checked(self.controls, values, service.settings), request, service)

    def as_json(self) -> dict[str, Any]:
        """As the page reads it."""
        return {"controls": [control.as_json() for control in self.controls]}
