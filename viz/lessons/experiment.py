"""The experiment of a step: controls as data, and one function that computes figures from their values.

    def run_spread_experiment(inputs: ExperimentInput) -> ExperimentResult:
        result = measure_scaling(int(inputs.values["width"]), inputs.values["seed"])
        return ExperimentResult((LinePlot(…),), numbers={"raw": result.raw})

    Step("spread", code=Code(attention_scores, "* scale"), formula=…,
         experiment=Experiment(run_spread_experiment, (Choice("width", ("4", "64"), "64"), Button("seed"))))

The function must be deterministic, because its results are cached. It should take at most a second, because visitors
wait in one queue. A visitor's new setting replaces the queued one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headlight.model.records import FloatArray, Translation, TranslationRequest
from headlight.model.translate.model_info import ModelInfo
from headlight.model.translate.reranking import own_choice
from headlight.viz.errors import PageError
from headlight.viz.lessons.controls import Control, check_controls
from headlight.viz.lessons.result_figures import ExperimentResult
from headlight.viz.lessons.tensors import MAX_CAPTURED, capture, estimate_size
from headlight.viz.service.backend import RemoteFunction
from headlight.viz.service.service import Service
from headlight.viz.token_labels import row_labels, token_labels

MAX_PARAMETERS = 100_000_000  # limit for a model that an experiment runs many times


@dataclass(frozen=True)
class ExperimentInput:
    """Input of an experiment: control values, sentence and model."""

    values: Mapping[str, Any]  # validated control values, by name
    request: TranslationRequest
    service: Service

    @property
    def translation(self) -> Translation:
        """The translation of the sentence."""
        return self.service.translate(self.request)

    @property
    def own_translation(self) -> Translation:
        """The translation that the model chooses without constraints: the baseline for a changed copy of the model."""
        return self.service.translate(own_choice(self.request))

    @property
    def tokens(self) -> list[str]:
        """The labels of the source tokens."""
        return [label.text for label in token_labels(self.translation.source_tokens)]

    @property
    def row_names(self) -> list[str]:
        """The names of the decoder's rows: the token read and the token written, "saw → yesterday"."""
        return [label.read + label.text for label in row_labels(self.translation.attention_map("decoder", 0, 0))]

    @property
    def model_info(self) -> ModelInfo:
        """Shape and vocabularies of the sentence's model, without loading it."""
        return self.service.model_info(self.request.model)

    @property
    def small_model_info(self) -> ModelInfo:
        """`model_info` of a model that may run many times. Raises a `PageError` if it has too many parameters."""
        if self.model_info.model.parameter_count() > MAX_PARAMETERS:
            raise PageError("model", "too_large_to_try", {"limit": MAX_PARAMETERS // 1_000_000})
        return self.model_info

    def run(self, work: RemoteFunction, *arguments: Any) -> Any:
        """Call `work(translator, *arguments)` on the backend of the sentence's model."""
        return self.service.run_on_translator(self.request.model, work, *arguments)

    def run_judge(self, work: RemoteFunction, *arguments: Any) -> Any:
        """Call `work` with the classifier whose verdict is a sum of contributions."""
        return self.service.run_on_classifier(work, *arguments, linear=True)

    def tensors(self, *names: str) -> Mapping[str, FloatArray]:
        """Return probes from one pass over the sentence and its translation, by path."""
        translation, info = self.translation, self.model_info
        if estimate_size(names, translation, info) > MAX_CAPTURED:
            raise PageError("text", "too_long_to_show")
        return capture(self.service, translation, info, names)


@dataclass(frozen=True)
class Experiment:
    """An experiment: its controls and its function."""

    run: Callable[[ExperimentInput], ExperimentResult]
    controls: tuple[Control, ...] = ()

    def make_input(self, values: Any, request: TranslationRequest, service: Service) -> ExperimentInput:
        """Validate the control values and return the input of the experiment."""
        return ExperimentInput(check_controls(self.controls, values, service.settings), request, service)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON for the page."""
        return {"controls": [control.as_json() for control in self.controls]}
