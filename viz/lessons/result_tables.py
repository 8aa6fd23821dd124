"""The result of an experiment in a notebook: each figure becomes a table of its numbers."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from headlight.viz.lessons.notebook_map import NumberMap
from headlight.viz.lessons.wording import fill_phrase


def to_html(content: pd.DataFrame | NumberMap) -> str:
    """Return a table or a map as HTML."""
    return str(content.to_html() if isinstance(content, pd.DataFrame) else content._repr_html_())


@dataclass(frozen=True, repr=False)
class ResultTables:
    """Tables of a result. `answer` is the result that the page gets; `lesson` and `words` resolve its phrases."""

    answer: Mapping[str, Any]
    lesson: str
    words: Mapping[str, str]

    @property
    def numbers(self) -> dict[str, str]:
        """The numbers of the result as text, by name."""
        return {name: self.phrase(value) for name, value in self.answer["numbers"].items()}

    def tables(self) -> Iterator[tuple[str, pd.DataFrame | NumberMap | str]]:
        """Yield the title of each figure with its map, its numbers or its text."""
        for figure in self.answer["figures"]:
            for part in figure.get("parts", [figure]):
                yield from self._tables(part)

    def _tables(self, part: Mapping[str, Any]) -> Iterator[tuple[str, pd.DataFrame | NumberMap | str]]:
        title = self.phrase(part.get("title", ""))
        match part["form"]:
            case "heat":
                yield title, self._map(part)
            case "bars":
                yield title, pd.DataFrame({"": part["says"]}, index=self._phrases(part["names"]))
            case "lines":
                columns = {self.phrase(line["name"]): line["y"] for line in part["lines"]}
                yield title, pd.DataFrame(columns, index=pd.Index(part["x"], name=self.phrase(part["x_name"])))
            case "table":
                rows = [self._phrases(row) for row in part["rows"]]
                yield title, pd.DataFrame(rows, columns=self._phrases(part["columns"]))
            case "texts":
                for entry in part["texts"]:
                    yield self.phrase(entry["name"]), self.phrase(entry["text"])
            case "sources":
                for entry in part["sources"]:
                    yield self.phrase(entry["title"]), "\n".join(line for _, line in entry["code"]["lines"])
            case "trains":
                yield "", pd.DataFrame(part["runs"])
            case "circle":
                axes = [self.phrase(part["x_name"]), self.phrase(part["y_name"])]
                points = [[point["x"], point["y"]] for point in part["points"]]
                yield title, pd.DataFrame(points, self._phrases([point["name"] for point in part["points"]]), axes)
            case "matrices":
                for matrix in part["matrices"]:
                    yield f"{title}: {self.phrase(matrix['name'])}", pd.DataFrame(matrix["rows"])
            case "blocks":
                for block in part["blocks"]:
                    heading = f"{title} {part['code']} {self.phrase(part['shape'])}: {self.phrase(block['name'])}"
                    yield heading, pd.DataFrame(block["numbers"])
            case form:
                raise ValueError(f"Notebooks cannot show {form!r}. Add a function for it here.")

    def _map(self, part: Mapping[str, Any]) -> NumberMap:
        encoded = part["numbers"]
        matrix = np.frombuffer(base64.b64decode(encoded["numbers"]), dtype="<f4").reshape(encoded["shape"])
        return NumberMap(matrix, self._phrases(part["rows"]), self._phrases(part["columns"]), part["scale"])

    def _phrases(self, values: Sequence[Any]) -> list[str]:
        return [self.phrase(value) for value in values]

    def phrase(self, value: Any) -> str:
        """Resolve a phrase of the lesson; return plain text unchanged."""
        if not isinstance(value, Mapping):
            return str(value)
        lesson_key = f"lesson_{self.lesson}_say_{value['say']}"
        return fill_phrase(
            self.words.get(lesson_key) or self.words[value["say"]],
            {name: self.phrase(nested) for name, nested in value["values"].items()},
        )

    def __repr__(self) -> str:
        return "\n\n".join(f"{title}\n{content}" for title, content in self.tables())

    def _repr_html_(self) -> str:
        results = []
        for title, content in self.tables():
            body = f"<pre>{escape(content)}</pre>" if isinstance(content, str) else to_html(content)
            results.append(f"<p><b>{escape(title)}</b></p>{body}")
        return "".join(results)
