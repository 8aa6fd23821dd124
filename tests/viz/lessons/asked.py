"""Helper: the browser's data of one sentence, for tests of lessons."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from headlight.model.records import FloatArray, Translation
from headlight.viz.figure_phrases import phrases
from headlight.viz.lessons import LESSONS
from headlight.viz.lessons.experiment_server import EXPERIMENTS
from headlight.viz.lessons.lesson import FormulaVariant, Step
from headlight.viz.lessons.result_figures import ExperimentResult, ResultFigure
from headlight.viz.lessons.tensors import make_tensors_call
from headlight.viz.service.service import Service
from tests.viz.local_translator import local_translator

# A pre-norm and a post-norm model.
SENTENCES = {"de-en": "Der Hund schläft im Garten.", "toy": "ich mochte ein bier"}
CLOSE = 2e-5


class Asked:
    """Tensors by path and results of experiments, computed when they are needed."""

    def __init__(self, service: Service, model: str) -> None:
        self.service = service
        self.request = {"text": SENTENCES[model], "model": model}
        self.ask = make_tensors_call(service)
        self.translation: Translation = service.translate(service.check(self.request))
        self.translator = local_translator(service, model)
        self.config = self.translator.model.config

    def answer(self, *names: str) -> dict[str, Any]:
        return self.ask({"request": self.request, "names": list(names)})

    def tensor(self, name: str) -> FloatArray:
        return unpacked(self.answer(name)["tensors"][name])

    def encoder(self, name: str, layer: int = 0) -> FloatArray:
        return self.tensor(f"encoder.layers.{layer}.self_attention.{name}")

    def run_experiment(self, lesson: str, step: str, **values: Any) -> ExperimentResult:
        """The result of a step's experiment for these control values."""
        experiment = EXPERIMENTS[lesson, step]
        return experiment.run(experiment.make_input(values, self.service.check(self.request), self.service))


def step_phrase(lesson: str, step: str, part: str, result: ExperimentResult, language: str = "en") -> str:
    """The title or the words of a step for a result, before its numbers are inserted."""
    table, base = phrases(language), f"lesson_{lesson}_{step}_{part}"
    return next((table[key] for each in result.facts if (key := f"{base}_{each}") in table), table.get(base, ""))


def step_variant(lesson: str, step: str, result: ExperimentResult) -> Step | FormulaVariant:
    """The formula of a step for a result, and the same with numbers."""
    step_record = next(each for one in LESSONS if one.name == lesson for each in one.steps if each.name == step)
    return next(
        (each for each in step_record.formula_variants if set(each.conditions) <= set(result.facts)), step_record
    )


def pictures(result: ExperimentResult) -> list[ResultFigure]:
    """All figures, including those in one row."""
    return [part for figure in result.figures for part in getattr(figure, "parts", [figure])]


def unpacked(sent: Mapping[str, Any]) -> FloatArray:
    return np.frombuffer(base64.b64decode(sent["numbers"]), dtype="<f4").reshape(sent["shape"])


def softmax(scores: FloatArray) -> FloatArray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
