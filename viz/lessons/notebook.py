"""A lesson as a notebook: per step, its words, its formula, and the code that computes its tensors for a sentence.

One generator writes the notebook of every lesson from its steps. The cells use `headlight.lesson`, so they compute the
numbers of the page, with the page's selection.
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
from headlight.viz.errors import PageError, repr_short
from headlight.viz.field_values import check_choice, check_int
from headlight.viz.figure_phrases import LANGUAGES, phrases
from headlight.viz.lessons import LESSONS
from headlight.viz.lessons.controls import check_controls
from headlight.viz.lessons.lesson import Step
from headlight.viz.lessons.lesson_session import LessonSession, find_lesson, full_request
from headlight.viz.lessons.notebook_code import step_code, translate_comments
from headlight.viz.lessons.questions import QuestionOptions, StepView, make_question
from headlight.viz.lessons.wording import (
    fill_formula,
    fill_phrase,
    find_phrase,
    numbers_of_model,
    step_formula,
    variants,
)
from headlight.viz.service.model_json import model_json
from headlight.viz.service.service import Service
from headlight.viz.token_labels import token_labels

INSTALL_COMMAND = "pip install ."
MARKDOWN_CHARACTERS = re.compile(r"([\\`*_{}\[\]()#+!|~$-])")  # special characters of Markdown


@dataclass(frozen=True)
class NotebookSelection:
    """The page's selection: indices from 0, a layer and head per kind of attention, and the controls of each step."""

    places: Mapping[str, int]
    heads: Mapping[str, tuple[int, int]]
    controls: Mapping[str, Mapping[str, Any]]


def notebook_function(service: Service) -> Callable[[Mapping[str, Any]], dict[str, str]]:
    """Return the function that writes the notebook of a lesson for a sentence."""

    def lesson_notebook(values: Mapping[str, Any]) -> dict[str, str]:
        names = tuple(entry.name for entry in LESSONS)
        lesson = find_lesson(check_choice("lesson", values.get("lesson"), choices=names))
        language = check_choice("language", values.get("language"), choices=LANGUAGES)
        request = service.check(values.get("request"))
        request_values: dict[str, Any] = {"text": request.text, "model": request.model or service.default}
        default_values = full_request(service.check(request_values, model_defaults=True))
        request_values |= {
            name: value for name, value in full_request(request).items() if value != default_values.get(name)
        }
        session = LessonSession(lesson.name, language=language, service=service, **request_values)
        selection = parse_selection(values.get("look"), session, service)
        content = json.dumps(notebook(session, request_values, selection, service), ensure_ascii=False, indent=1)
        return {"name": f"headlight-{lesson.name}.ipynb", "content": f"{content}\n"}

    return lesson_notebook


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def parse_selection(look: Any, practice: LessonSession, service: Service) -> NotebookSelection:
    """Parse and validate the browser's selection."""
    if not isinstance(look, Mapping):
        raise PageError("look", "not_names", {"given": repr_short(look), "example": '{"token": 0}'})
    translation = practice.translation
    counts = {"token": len(practice.tokens), "key": len(practice.tokens), "written": len(practice.written)}
    places = {name: check_int(name, look.get(name, 0), low=0, high=count - 1) for name, count in counts.items()}
    heads: dict[str, tuple[int, int]] = {}
    for kind in KINDS:
        layers, count = translation.attention.of(kind).shape[:2]
        value = look.get(kind, {})
        indices = value if isinstance(value, Mapping) else {}
        layer = check_int("layer", indices.get("layer", 0), low=0, high=layers - 1)
        heads[kind] = (layer, check_int("head", indices.get("head", 0), low=0, high=count - 1))
    value = look.get("set", {})
    control_values = value if isinstance(value, Mapping) else {}
    controls = {
        step.name: check_controls(step.experiment.controls, control_values.get(step.name), service.settings)
        for step in practice.lesson.steps
        if step.experiment is not None
    }
    return NotebookSelection(places, heads, controls)


# ---------------------------------------------------------------- the cells


def notebook(
    practice: LessonSession, request: Mapping[str, Any], selection: NotebookSelection, service: Service
) -> dict[str, Any]:
    """Return the notebook as JSON."""
    lesson, table = practice.lesson, phrases(practice.language)
    title = f"# {table[f'lesson_{lesson.name}_name']}\n\n{table[f'lesson_{lesson.name}_promise']}\n\n"
    introduction = fill_phrase(
        table["lesson_notebook_says"], {"install": f"`{INSTALL_COMMAND}`", "version": __version__}
    )
    cells = [_markdown(title + introduction), _code(_first_cells(practice, request, selection))]
    writer = NotebookWriter(practice, selection, service)
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


def _first_cells(practice: LessonSession, request: Mapping[str, Any], selection: NotebookSelection) -> str:
    text, *options = [f"{name}={value!r}" for name, value in request.items()]
    arguments = ", ".join(
        [repr(practice.lesson.name), text.removeprefix("text="), *options, f"language={practice.language!r}"]
    )
    lines = ["import headlight", "", f"lesson = headlight.lesson({arguments})"]
    if any(step.figures for step in practice.lesson.steps):
        places = ", ".join(str(selection.places[name]) for name in ("token", "key", "written"))
        heads = ", ".join(str(selection.heads[kind]) for kind in KINDS)
        lines = [
            "import numpy as np",
            "import pandas as pd",
            "",
            *lines,
            "tensor = lesson.tensor  # @probe",
        ]
        lines += [f"token, key_token, written = {places}  # @places", f"{', '.join(KINDS)} = {heads}  # @heads"]
    return translate_comments("\n".join([*lines, "lesson.translation.text"]), phrases(practice.language))


class NotebookWriter:
    """Writes the cells of steps."""

    def __init__(self, practice: LessonSession, chosen: NotebookSelection, service: Service) -> None:
        self.practice, self.chosen = practice, chosen
        self.table = phrases(practice.language)
        self.model = practice.model_values()
        self.settings = service.settings
        self.named = self.names(service)

    def names(self, service: Service) -> dict[str, str]:
        """Return the selected tokens and the languages, by their names in phrases."""
        practice, indices = self.practice, self.chosen.places
        translation = practice.translation
        info = model_json(service, translation)
        outputs = indices["written"]
        prefix = translation.text[: translation.target_tokens[outputs - 1].end].strip() if outputs else ""
        languages = {
            side: self.table.get(f"language_{info[side]}", info[side] or self.table[f"lesson_any_{side}"])
            for side in ("source", "target")
        }
        tokens = {"token": practice.tokens[indices["token"]], "key": practice.tokens[indices["key"]]}
        start = token_labels([translation.start_token])[0].text
        return languages | tokens | {"written": practice.written[outputs], "so_far": prefix or start}

    def cells(self, number: int, step: Step) -> list[dict[str, Any]]:
        """Return the text cell of a step and its code cells."""
        session, lesson = self.practice, self.practice.lesson
        base = f"lesson_{lesson.name}_{step.name}"
        result = session.run(step.name, **self.chosen.controls[step.name]) if step.experiment is not None else None
        holding = variants(self.model, result.answer["holds"] if result else ())
        row = self.named["token" if step.kind == "encoder" else "written"]
        causal = {"allowed": str(self.chosen.places["written"] + 1), "keys": str(len(session.written))}
        causal["hidden"] = str(len(session.written) - self.chosen.places["written"] - 1)
        numbers = numbers_of_model(self.model) | (result.numbers if result else {})
        ids = {f"id{index + 1}": str(token.id) for index, token in enumerate(session.translation.source_tokens[:3])}
        values = {
            name: _escape_markdown(value) for name, value in ({"row": row} | self.named | causal | numbers).items()
        }
        values |= {name: f"**{values[name]}**" for name in ("token", "row", "written", "key")}
        question = make_question(self.step_view(step), result)
        words = fill_phrase(find_phrase(self.table, f"{base}_words", holding), values)
        title_variants = ["open", *holding] if question else holding
        lines = [f"## {number}. {find_phrase(self.table, f'{base}_title', title_variants)}"]
        if question:
            words_open = self.table.get(f"{base}_words_open", "")  # exists if the words would reveal the answer
            lines.append(fill_phrase(words_open, values) if words_open else words)
            lines += self.question_cell(step, question, values, words if words_open else "")
        else:
            lines.append(words)
        formula = fill_formula(step_formula(step, holding).formula, {**numbers, **ids})
        if formula:
            lines.append(f"$$ {formula} $$")
        note = find_phrase(self.table, f"{base}_note", holding)
        if note and step.experiment is not None:  # the notes of other steps refer to buttons of the page
            lines.append(fill_phrase(note, values))
        return [
            _markdown("\n\n".join(lines)),
            *(_code(translate_comments(cell_code, self.table)) for cell_code in self.code(step, holding, result)),
        ]

    def step_view(self, step: Step) -> StepView:
        """Return the row, layer and head of a step's question."""
        row = self.chosen.places["token" if step.kind == "encoder" else "written"]
        return StepView(self.practice, step, row, *self.chosen.heads[step.kind], self.model, self.table)

    def question_cell(
        self, step: Step, question: QuestionOptions, values: Mapping[str, str], feedback: str
    ) -> list[str]:
        """Return the question with its options, and the folded answer with the step's words."""
        base, phrase_values = f"lesson_{self.practice.lesson.name}_{step.name}", dict(values)
        phrase_values |= {name: _escape_markdown(value) for name, value in question.values.items()}
        options = "\n".join(f"- {_escape_markdown(option)}" for option in question.options)
        correct = f"**{_escape_markdown(question.options[question.correct])}**"
        # The answer to a question per setting refers to highlights of the page.
        per_setting = step.question is not None and step.question.ask_per_setting
        answer = "" if per_setting else fill_phrase(self.table[f"{base}_answer"], phrase_values)
        summary = f"<details><summary>{self.table['lesson_just_show']}</summary>"
        folded = [part for part in (correct, answer, feedback) if part]
        return [f"> {fill_phrase(self.table[f'{base}_ask'], phrase_values)}", options, summary, *folded, "</details>"]

    def code(self, step: Step, holding: list[str], result: Any) -> list[str]:
        """Return one cell, or two if the step trains a model."""
        source = f"print(lesson.source({step.name!r}))"
        if result is None:
            divisor = "np.sqrt(queries.shape[-1])" if self.model["scale_scores"] else "1"
            scale = f"np.sqrt({self.model['d_model']})" if self.model["scale_embedding"] else "1"
            return [f"{source}\n{step_code(step, holding, divisor, scale)}"]
        defaults = {} if step.experiment is None else check_controls(step.experiment.controls, {}, self.settings)
        values = self.chosen.controls[step.name]
        arguments = [f"{name}={_plain(value)!r}" for name, value in values.items() if value != defaults[name]]
        call = ", ".join([repr(step.name), *arguments])
        cells = [f"{source}\nlesson.run({call})"]
        if any(figure["form"] == "trains" for figure in result.answer["figures"]):
            cells.append(f"lesson.train({call})  # @seconds")
        return cells


def _escape_markdown(text: str) -> str:
    """Escape a text, because visitors can type Markdown and HTML."""
    return MARKDOWN_CHARACTERS.sub(r"\\\1", escape(text, quote=False))
