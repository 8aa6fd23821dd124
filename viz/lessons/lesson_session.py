"""A lesson in Python: the tensors and experiments of the page for a sentence, and small models to train.

    lesson = headlight.lesson("walk", "Der Hund schläft im Garten.", model="de-en")
    lesson.tensor("encoder.layers.0.self_attention.scores")  # [heads, queries, keys]
    headlight.lesson("heads").run("spread", width="64")  # the result of a step's experiment

The notebooks of the page use this module.
"""

from __future__ import annotations

import base64
import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from headlight.model.records import FloatArray, Translation, TranslationRequest
from headlight.model.training.live_run import LiveRun
from headlight.model.training.live_run_settings import LiveRunSettings
from headlight.viz.errors import PageError
from headlight.viz.figure_phrases import LANGUAGES, phrases
from headlight.viz.lessons import LESSONS
from headlight.viz.lessons.experiment_server import make_experiment_call
from headlight.viz.lessons.lesson import Lesson, Step
from headlight.viz.lessons.notebook_map import MapScale, NumberMap
from headlight.viz.lessons.result_tables import ResultTables
from headlight.viz.lessons.tensors import LOGITS, make_tensors_call
from headlight.viz.service.examples import EXAMPLES
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from headlight.viz.token_labels import row_labels, token_labels

MAX_COLUMNS = 16  # columns of a displayed table


class LessonSession:
    """A lesson for one sentence. `language` is that of the phrases; `options` are translation options."""

    def __init__(
        self,
        name: str,
        text: str = "",
        *,
        model: str = "",
        language: str = "en",
        service: Service | None = None,
        **options: Any,
    ) -> None:
        self.lesson = find_lesson(name)
        if language not in LANGUAGES:
            raise ValueError(f"language is {language!r}, but must be one of {', '.join(LANGUAGES)}.")
        self.language = language
        self._service = service or Service(Settings())
        request_values = {"text": text or EXAMPLES[0].text, "model": model, **options}
        request = self._service.check(request_values, model_defaults=True)
        self._request_values = full_request(request)
        self.translation: Translation = self._service.translate(request)
        self._tensors = make_tensors_call(self._service)
        self._experiments = make_experiment_call(self._service)

    @property
    def tokens(self) -> list[str]:
        """Labels of the sentence's tokens."""
        return [label.text for label in token_labels(self.translation.source_tokens)]

    @property
    def written(self) -> list[str]:
        """Labels of the translation's tokens, one per row of the decoder."""
        return [label.text for label in token_labels(self.translation.target_tokens)]

    @property
    def row_names(self) -> list[str]:
        """Names of the decoder's rows: the token read and the token written, "saw → yesterday"."""
        return [label.read + label.text for label in row_labels(self.translation.attention_map("decoder", 0, 0))]

    @property
    def decoder_tokens(self) -> list[str]:
        """Labels of the tokens that the decoder reads, one per column of its self-attention."""
        return [label.text for label in token_labels(self.translation.decoder_tokens)]

    def step(self, name: str) -> Step:
        """Return a step by its name. Raise a `ValueError` if there is no such step."""
        result = next((step for step in self.lesson.steps if step.name == name), None)
        if result is None:
            choices = ", ".join(step.name for step in self.lesson.steps)
            raise ValueError(f"{self.lesson.name} has no step {name!r}. It has {choices}.")
        return result

    def tensor(self, path: str) -> FloatArray:
        """Return a tensor of the sentence and its translation, by the path of its probe, without the batch axis."""
        return decode_array(self._answer(path)["tensors"][path])

    def linear(self, x: FloatArray, path: str) -> FloatArray:
        """Return x W + b of the linear layer at `path`, with the model's weights: `[tokens, in]` → `[tokens, out]`."""
        product: FloatArray = x @ self.tensor(f"{path}.weight").T  # nn.Linear stores the transposed matrix
        try:
            return product + self.tensor(f"{path}.bias")
        except PageError:  # a layer without a bias
            return product

    def logits(self) -> list[dict[str, Any]]:
        """Return, per generated token, the best candidates as (token, id, logit) and the log-sum-exp of all logits."""
        rows: list[dict[str, Any]] = self._answer(LOGITS)["logits"]
        return rows

    def _answer(self, path: str) -> dict[str, Any]:
        return self._tensors({"request": self._request_values, "names": [path]})

    def model_values(self) -> dict[str, Any]:
        """Return the sizes and options of the model."""
        values: dict[str, Any] = self._answer("encoder.embedding.embedded")["model"]
        return values

    def run(self, step: str, **values: Any) -> ResultTables:
        """Run a step's experiment with these control values; other controls have their defaults."""
        self.step(step)
        control_values = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        request_values = {
            "request": self._request_values,
            "lesson": self.lesson.name,
            "step": step,
            "set": control_values,
        }
        return ResultTables(self._experiments(request_values), self.lesson.name, phrases(self.language))

    def train(self, step: str, **values: Any) -> pd.DataFrame:
        """Train the small models of a step. Return one row per snapshot, with the translations of its model.

        The default run takes a few seconds on one core. Raises a `ValueError` if the step trains nothing.
        """
        training_figures = [
            figure for figure in self.run(step, **values).answer["figures"] if figure["form"] == "trains"
        ]
        if not training_figures:
            raise ValueError(f"{self.lesson.name}.{step} does not train a model. Call run() instead.")
        return pd.concat(
            [train_run(run, number) for number, run in enumerate(training_figures[0]["runs"], start=1)],
            ignore_index=True,
        )

    def table(self, numbers: FloatArray, names: Sequence[str] = ()) -> pd.DataFrame:
        """Return a table with rows labelled by tokens if the counts match. Wide tables are truncated."""
        matrix = np.atleast_2d(numbers)
        rows, columns = (self._names(size, names) for size in matrix.shape)
        frame = pd.DataFrame(matrix, index=rows, columns=columns if len(columns) <= MAX_COLUMNS or columns[0] else None)
        return frame.iloc[:, : max(MAX_COLUMNS, len(self.tokens), len(self.written))].round(4)

    def map(
        self,
        numbers: FloatArray,
        rows: Sequence[str] = (),
        columns: Sequence[str] = (),
        *,
        scale: MapScale = "signed",
        causal: bool = False,
    ) -> NumberMap:
        """Return a matrix as the page's map. Rows without fitting names have those of the tokens, if the counts match.

        `causal`: cells above the diagonal are masked.
        """
        matrix = np.atleast_2d(numbers)
        names = rows if len(rows) == len(matrix) else [str(name) for name in self._names(len(matrix), ())]
        return NumberMap(matrix, names, columns, scale, causal)

    def _names(self, size: int, names: Sequence[str]) -> list[str] | range:
        candidates = (names, self.tokens, self.written)
        return next((list(labels) for labels in candidates if len(labels) == size), range(size))

    def source(self, step: str) -> str:
        """Return the source of the function that a step shows."""
        return inspect.getsource(inspect.unwrap(self.step(step).code.function))


def full_request(request: TranslationRequest) -> dict[str, Any]:
    """Return the request with all its options, as a browser sends it."""
    options = {name: value for name, value in dataclasses.asdict(request.options).items() if name != "alternatives"}
    names = ("text", "model", "target", "prefix", "source_language", "target_language")
    fields = options | {name: getattr(request, name) for name in names}
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in fields.items() if value is not None
    }


def lesson(name: str, text: str = "", **options: Any) -> LessonSession:
    """Return a lesson for a sentence, by default the first example of the page."""
    return LessonSession(name, text, **options)


def find_lesson(name: str) -> Lesson:
    """Return a lesson by its name. Raise a `ValueError` if there is no such lesson."""
    result = next((entry for entry in LESSONS if entry.name == name), None)
    if result is None:
        raise ValueError(f"There is no lesson {name!r}. There are {', '.join(entry.name for entry in LESSONS)}.")
    return result


def train_run(run: Mapping[str, Any], number: int) -> pd.DataFrame:
    """Train one run and return one row per snapshot."""
    live_run = LiveRun(LiveRunSettings(**run))
    rows = []
    for snapshot in live_run.snapshots():
        loss = float(np.mean(snapshot.losses)) if snapshot.losses else float("nan")
        rows.append(
            {
                "run": number,
                "step": snapshot.step,
                "loss": loss,
                "written": [sentence.translation for sentence in snapshot.sentences],
            }
        )
    return pd.DataFrame(rows)


def decode_array(message: Mapping[str, Any]) -> FloatArray:
    """Decode a tensor from its JSON."""
    return np.frombuffer(base64.b64decode(message["numbers"]), dtype="<f4").reshape(message["shape"])
