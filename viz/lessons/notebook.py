"""A lesson as a notebook: of each step its words, its formula, and the code that computes its tensors for a sentence.

One generator writes all of them from the steps of the lessons. The cells use `headlight.lesson`, so that they compute
what the page shows; what is chosen on the page is chosen in them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from headlight import __version__
from headlight.model.records import KINDS
from headlight.viz.answers.model_values import model_of
from headlight.viz.answers.service import Service
from headlight.viz.errors import PageError, shown
from headlight.viz.labels import labels
from headlight.viz.lessons import LESSONS
from headlight.viz.lessons.asking import Question, Seen, question_of
from headlight.viz.lessons.controls import checked
from headlight.viz.lessons.lesson import Step
from headlight.viz.lessons.notebook_code import code_of, commented
from headlight.viz.lessons.practice import Practice, asked_of, lesson_of
from headlight.viz.lessons.wording import filled, formula_of, numbers_of_model, tex, variants, worded
from headlight.viz.values import check_choice, check_whole
from headlight.viz.words import LANGUAGES, words

CLONE = "pip install ."
MARKS = re.compile(r"([\\`*_{}\[\]()#+!|~$-])")  # what Markdown reads


@dataclass(frozen=True)
class Chosen:
    """The page's selection: indices from 0, a layer and a head per kind, and the controls of each step."""

    places: Mapping[str, int]
    heads: Mapping[str, tuple[int, int]]
    controls: Mapping[str, Mapping[str, Any]]


def notebooks_of(service: Service) -> Callable[[Mapping[str, Any]], dict[str, str]]:
    """The function that writes the notebook of a lesson for a sentence."""

    def lesson_notebook(values: Mapping[str, Any]) -> dict[str, str]:
        names = tuple(each.name for each in LESSONS)
        lesson = lesson_of(check_choice("lesson", values.get("lesson"), choices=names))
        language = check_choice("language", values.get("language"), choices=LANGUAGES)
        request = service.check(values.get("request"))
        asked: dict[str, Any] = {"text": request.text, "model": request.model or service.default}
        plain = asked_of(service.check(asked, model_defaults=True))
        asked |= {name: value for name, value in asked_of(request).items() if value != plain.get(name)}
        practice = Practice(lesson.name, language=language, service=service, **asked)
        chosen = chosen_of(values.get("look"), practice, service)
        content = json.dumps(notebook(practice, asked, chosen, service), ensure_ascii=False, indent=1)
        return {"name": f"headlight-{lesson.name}.ipynb", "content": f"{content}\n"}

    return lesson_notebook


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def chosen_of(look: Any, practice: Practice, service: Service) -> Chosen:
    """Parse and validate the browser's selection."""
    if not isinstance(look, Mapping):
        raise PageError("look", "not_names", {"given": shown(look), "example": '{"token": 0}'})
    translation = practice.translation
    counts = {"token": len(practice.tokens), "key": len(practice.tokens), "written": len(practice.written)}
    places = {name: check_whole(name, look.get(name, 0), low=0, high=count - 1) for name, count in counts.items()}
    heads: dict[str, tuple[int, int]] = {}
    for kind in KINDS:
        layers, count = translation.attention.of(kind).shape[:2]
        given = look.get(kind, {})
        each = given if isinstance(given, Mapping) else {}
        layer = check_whole("layer", each.get("layer", 0), low=0, high=layers - 1)
        heads[kind] = (layer, check_whole("head", each.get("head", 0), low=0, high=count - 1))
    given = look.get("set", {})
    sets = given if isinstance(given, Mapping) else {}
    controls = {
        step.name: checked(step.experiment.controls, sets.get(step.name), service.settings)
        for step in practice.lesson.steps
        if step.experiment is not None
    }
    return Chosen(places, heads, controls)


# ---------------------------------------------------------------- the cells


def notebook(practice: Practice, asked: Mapping[str, Any], chosen: Chosen, service: Service) -> dict[str, Any]:
    """The whole notebook, as JSON has it."""
    lesson, table = practice.lesson, words(practice.language)
    title = f"# {table[f'lesson_{lesson.name}_name']}\n\n{table[f'lesson_{lesson.name}_promise']}\n\n"
    about = filled(table["lesson_notebook_says"], {"install": f"`{CLONE}`", "version": __version__})
    cells = [_markdown(title + about), _code(_begins(practice, asked, chosen))]
    writer = Writer(practice, chosen, service)
    for number, step in enumerate(lesson.steps, start=1):
        cells += writer.cells(number, step)
    for number, cell in enumerate(cells):
        cell["id"] = f"{lesson.name}-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text.strip().splitlines(keepends=True)}


def _code(text: str) -> dict[str, Any]:
    source = text.strip().splitlines(keepends=True)
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}


def _begins(practice: Practice, asked: Mapping[str, Any], chosen: Chosen) -> str:
    text, *rest = [f"{name}={value!r}" for name, value in asked.items()]
    said = ", ".join([repr(practice.lesson.name), text.removeprefix("text="), *rest, f"language={practice.language!r}"])
    lines = ["import headlight", "", f"lesson = headlight.lesson({said})"]
    if any(step.figures for step in practice.lesson.steps):
        places = ", ".join(str(chosen.places[name]) for name in ("token", "key", "written"))
        heads = ", ".join(str(chosen.heads[kind]) for kind in KINDS)
        lines = [
            "import numpy as np",
            "import pandas as pd",
            "",
            *lines,
            "tensor = lesson.tensor  # @probe",
        ]
        lines += [f"token, key_token, written = {places}  # @places", f"{', '.join(KINDS)} = {heads}  # @heads"]
    return commented("\n".join([*lines, "lesson.translation.text"]), words(practice.language))


class Writer:
    """Cells of steps."""

    def __init__(self, practice: Practice, chosen: Chosen, service: Service) -> None:
        self.practice, self.chosen = practice, chosen
        self.table = words(practice.language)
        self.model = practice.model_values()
        self.settings = service.settings
        self.named = self.names(service)

    def names(self, service: Service) -> dict[str, str]:
        """Tokens and languages, by the names that phrases call them."""
        practice, places = self.practice, self.chosen.places
        translation = practice.translation
        about = model_of(service, translation)
        written = places["written"]
        so_far = translation.text[: translation.target_tokens[written - 1].end].strip() if written else ""
        languages = {
            side: self.table.get(f"language_{about[side]}", about[side] or self.table[f"lesson_any_{side}"])
            for side in ("source", "target")
        }
        tokens = {"token": practice.tokens[places["token"]], "key": practice.tokens[places["key"]]}
        start = labels([translation.start_token])[0].text
        return languages | tokens | {"written": practice.written[written], "so_far": so_far or start}

    def cells(self, number: int, step: Step) -> list[dict[str, Any]]:
        """Text cells of a step and the code cell that computes it."""
        practice, lesson = self.practice, self.practice.lesson
        base = f"lesson_{lesson.name}_{step.name}"
        found = practice.run(step.name, **self.chosen.controls[step.name]) if step.experiment is not None else None
        holding = variants(self.model, found.answer["holds"] if found else ())
        row = self.named["token" if step.kind == "encoder" else "written"]
        causal = {"allowed": str(self.chosen.places["written"] + 1), "keys": str(len(practice.written))}
        causal["hidden"] = str(len(practice.written) - self.chosen.places["written"] - 1)
        numbers = numbers_of_model(self.model) | (found.numbers if found else {})
        first = {f"id{place + 1}": str(token.id) for place, token in enumerate(practice.translation.source_tokens[:3])}
        values = {name: _safe(value) for name, value in ({"row": row} | self.named | causal | numbers).items()}
        values |= {name: f"**{values[name]}**" for name in ("token", "row", "written", "key")}
        question = question_of(self.seen(step), found)
        told = filled(worded(self.table, f"{base}_words", holding), values)
        opened = ["open", *holding] if question else holding
        said = [f"## {number}. {worded(self.table, f'{base}_title', opened)}"]
        if question:
            before = self.table.get(f"{base}_words_open", "")  # present if the words would reveal the answer
            said.append(filled(before, values) if before else told)
            said += self.asked(step, question, values, told if before else "")
        else:
            said.append(told)
        formula = tex(formula_of(step, holding).formula, {**numbers, **first})
        if formula:
            said.append(f"$$ {formula} $$")
        note = worded(self.table, f"{base}_note", holding)
        if note and step.experiment is not None:  # the words of other steps refer to buttons of the page
            said.append(filled(note, values))
        return [
            _markdown("\n\n".join(said)),
            *(_code(commented(each, self.table)) for each in self.code(step, holding, found)),
        ]

    def seen(self, step: Step) -> Seen:
        """The row, layer and head of a step's question."""
        row = self.chosen.places["token" if step.kind == "encoder" else "written"]
        return Seen(self.practice, step, row, *self.chosen.heads[step.kind], self.model, self.table)

    def asked(self, step: Step, question: Question, values: Mapping[str, str], told: str) -> list[str]:
        """The question with its options, and the folded answer with the step's words."""
        base, known = f"lesson_{self.practice.lesson.name}_{step.name}", dict(values)
        known |= {name: _safe(value) for name, value in question.values.items()}
        options = "\n".join(f"- {_safe(option)}" for option in question.options)
        right = f"**{_safe(question.options[question.right])}**"
        each = step.ask is not None and step.ask.each  # they refer to highlights of the page
        answer = "" if each else filled(self.table[f"{base}_answer"], known)
        summary = f"<details><summary>{self.table['lesson_just_show']}</summary>"
        folded = [part for part in (right, answer, told) if part]
        return [f"> {filled(self.table[f'{base}_ask'], known)}", options, summary, *folded, "</details>"]

    def code(self, step: Step, holding: list[str], found: Any) -> list[str]:
        """One cell, or two where something is trained."""
        source = f"print(lesson.source({step.name!r}))"
        if found is None:
            divisor = "np.sqrt(queries.shape[-1])" if self.model["scale_scores"] else "1"
            scale = f"np.sqrt({self.model['d_model']})" if self.model["scale_embedding"] else "1"
            return [f"{source}\n{code_of(step, holding, divisor, scale)}"]
        starts = {} if step.experiment is None else checked(step.experiment.controls, {}, self.settings)
        values = self.chosen.controls[step.name]
        given = [f"{name}={_plain(value)!r}" for name, value in values.items() if value != starts[name]]
        called = ", ".join([repr(step.name), *given])
        cells = [f"{source}\nlesson.run({called})"]
        if any(figure["form"] == "trains" for figure in found.answer["figures"]):
            cells.append(f"lesson.train({called})  # @seconds")
        return cells


def _safe(text: str) -> str:
    """A text that Markdown shows as it stands, whatever a visitor typed."""
    return MARKS.sub(r"\\\1", escape(text, quote=False))
