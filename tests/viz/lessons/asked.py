"""Helper: the browser's data of one sentence, for tests of lessons."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from headlight.model.records import FloatArray, Translation
from headlight.viz.figure_phrases import phrases
from headlight.viz.lessons import LESSONS
from headlight.viz.lessons.experiment_server import STEPS
from headlight.viz.lessons.lesson import FormulaVariant, Step
from headlight.viz.lessons.result_figures import ExperimentResult, ResultFigure
from headlight.viz.lessons.tensors import tensors_function
from headlight.viz.service.service import Service
from tests.viz.loaded import translator_of

# One of each way to build it: the norm before each part, and after the sum.
SENTENCES = {"de-en": "Der Hund schläft im Garten.", "toy": "ich mochte ein bier"}
CLOSE = 2e-5


class Asked:
    """Tensors by path, and what experiments find, asked for as they are needed."""

    def __init__(self, service: Service, model: str) -> None:
        self.service = service
        self.request = {"text": SENTENCES[model], "model": model}
        self.ask = tensors_function(service)
        self.translation: Translation = service.translate(service.check(self.request))
        self.translator = translator_of(service, model)
        self.config = self.translator.model.config

    def answer(self, *names: str) -> dict[str, Any]:
        return self.ask({"request": self.request, "names": list(names)})

    def tensor(self, name: str) -> FloatArray:
        return unpacked(self.answer(name)["tensors"][name])

    def encoder(self, name: str, layer: int = 0) -> FloatArray:
        return self.tensor(f"encoder.layers.{layer}.self_attention.{name}")

    def found(self, lesson: str, step: str, **values: Any) -> ExperimentResult:
        """What the experiment of a step finds with these controls set."""
        experiment = STEPS[lesson, step]
        return experiment.run(experiment.make_input(values, self.service.check(self.request), self.service))


def phrase_of(lesson: str, step: str, part: str, found: ExperimentResult, language: str = "en") -> str:
    """The title or the words of a step as they are for what was found, before its numbers are put in."""
    table, base = phrases(language), f"lesson_{lesson}_{step}_{part}"
    return next((table[key] for each in found.facts if (key := f"{base}_{each}") in table), table.get(base, ""))


def written_for(lesson: str, step: str, found: ExperimentResult) -> Step | FormulaVariant:
    """The formula of a step, and the same with numbers, as they are for what was found."""
    shown = next(each for one in LESSONS if one.name == lesson for each in one.steps if each.name == step)
    return next((each for each in shown.formula_variants if set(each.conditions) <= set(found.facts)), shown)


def pictures(found: ExperimentResult) -> list[ResultFigure]:
    """All pictures, also those that stand beside one another."""
    return [part for figure in found.figures for part in getattr(figure, "parts", [figure])]


def unpacked(sent: Mapping[str, Any]) -> FloatArray:
    return np.frombuffer(base64.b64decode(sent["numbers"]), dtype="<f4").reshape(sent["shape"])


def softmax(scores: FloatArray) -> FloatArray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
