"""A lesson in Python: its tensors and its experiments for a sentence, as the page shows them; small models to train.

    lesson = headlight.lesson("walk", "Der Hund schläft im Garten.", model="de-en")
    lesson.tensor("encoder.layers.0.self_attention.scores")  # [heads, queries, keys]
    headlight.lesson("heads").run("spread", width="64")  # the result of a step's experiment

The page's notebooks are written with it.
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
from headlight.viz.figure_phrases import LANGUAGES, phrases
from headlight.viz.lessons import LESSONS
from headlight.viz.lessons.experiment_server import experiment_function
from headlight.viz.lessons.lesson import Lesson, Step
from headlight.viz.lessons.result_tables import ResultTables
from headlight.viz.lessons.tensors import LOGITS, tensors_function
from headlight.viz.service.examples import EXAMPLES
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from headlight.viz.token_labels import token_labels

MAX_COLUMNS = 16  # columns of a table that is shown


class LessonSession:
    """A lesson for one sentence. `language` is that of the words; `options` are those of a translation."""

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
        wanted = {"text": text or EXAMPLES[0].text, "model": model, **options}
        request = self._service.check(wanted, model_defaults=True)
        self.asked = full_request(request)
        self.translation: Translation = self._service.translate(request)
        self._tensors = tensors_function(self._service)
        self._experiments = experiment_function(self._service)

    @property
    def tokens(self) -> list[str]:
        """The tokens of the sentence."""
        return [label.text for label in token_labels(self.translation.source_tokens)]

    @property
    def written(self) -> list[str]:
        """The tokens of the translation: each row of the decoder writes one."""
        return [label.text for label in token_labels(self.translation.target_tokens)]

    def step(self, name: str) -> Step:
        """A step by its name."""
        result = next((step for step in self.lesson.steps if step.name == name), None)
        if result is None:
            choices = ", ".join(step.name for step in self.lesson.steps)
            raise ValueError(f"{self.lesson.name} has no step {name!r}. It has {choices}.")
        return result

    def tensor(self, path: str) -> FloatArray:
        """A tensor of the sentence and its translation, by the path of its probe, without the batch."""
        return decode_array(self._answer(path)["tensors"][path])

    def logits(self) -> list[dict[str, Any]]:
        """Of each written token: the best candidates as (token, id, logit), and the log of the sum of all powers."""
        rows: list[dict[str, Any]] = self._answer(LOGITS)["logits"]
        return rows

    def _answer(self, path: str) -> dict[str, Any]:
        return self._tensors({"request": self.asked, "names": [path]})

    def model_values(self) -> dict[str, Any]:
        """Sizes and kinds of the model."""
        values: dict[str, Any] = self._answer("encoder.embedding.embedded")["model"]
        return values

    def run(self, step: str, **values: Any) -> ResultTables:
        """The result of a step's experiment with these control values; the others have their defaults."""
        self.step(step)
        argument = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        asked = {"request": self.asked, "lesson": self.lesson.name, "step": step, "set": argument}
        return ResultTables(self._experiments(asked), self.lesson.name, phrases(self.language))

    def train(self, step: str, **values: Any) -> pd.DataFrame:
        """Train the small models of a step: one row per snapshot, with the translation of each model.

        The default run takes some seconds of one core.
        """
        results = [each for each in self.run(step, **values).answer["figures"] if each["form"] == "trains"]
        if not results:
            raise ValueError(f"{self.lesson.name}.{step} trains nothing. run() says what it computes.")
        return pd.concat(
            [train_all(run, number) for number, run in enumerate(results[0]["runs"], start=1)], ignore_index=True
        )

    def table(self, numbers: FloatArray, names: Sequence[str] = ()) -> pd.DataFrame:
        """Rows named by tokens if the counts match; wide tables are truncated."""
        matrix = np.atleast_2d(numbers)
        rows, columns = (self._names(size, names) for size in matrix.shape)
        frame = pd.DataFrame(matrix, index=rows, columns=columns if len(columns) <= MAX_COLUMNS or columns[0] else None)
        return frame.iloc[:, : max(MAX_COLUMNS, len(self.tokens), len(self.written))].round(4)

    def _names(self, size: int, names: Sequence[str]) -> list[str] | range:
        known = (names, self.tokens, self.written)
        return next((list(each) for each in known if len(each) == size), range(size))

    def source(self, step: str) -> str:
        """The source of the function that a step is about."""
        return inspect.getsource(inspect.unwrap(self.step(step).code.function))


def full_request(request: TranslationRequest) -> dict[str, Any]:
    """A request with all its options, as a browser would send it."""
    options = {name: value for name, value in dataclasses.asdict(request.options).items() if name != "alternatives"}
    names = ("text", "model", "target", "prefix", "source_language", "target_language")
    result = options | {name: getattr(request, name) for name in names}
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in result.items() if value is not None
    }


def lesson(name: str, text: str = "", **options: Any) -> LessonSession:
    """A lesson for a sentence; without one, for the first example of the page."""
    return LessonSession(name, text, **options)


def find_lesson(name: str) -> Lesson:
    """A lesson by its name."""
    result = next((each for each in LESSONS if each.name == name), None)
    if result is None:
        raise ValueError(f"There is no lesson {name!r}. There are {', '.join(each.name for each in LESSONS)}.")
    return result


def train_all(run: Mapping[str, Any], number: int) -> pd.DataFrame:
    """All moments of one run."""
    watched = LiveRun(LiveRunSettings(**run))
    rows = []
    for moment in watched.snapshots():
        loss = float(np.mean(moment.losses)) if moment.losses else float("nan")
        rows.append(
            {"run": number, "step": moment.step, "loss": loss, "written": [each.written for each in moment.shown]}
        )
    return pd.DataFrame(rows)


def decode_array(sent: Mapping[str, Any]) -> FloatArray:
    """A tensor from the form in which it travels."""
    return np.frombuffer(base64.b64decode(sent["numbers"]), dtype="<f4").reshape(sent["shape"])
