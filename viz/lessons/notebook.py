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
from headlight.model.errors import INSTALL_APP
from headlight.model.records import KINDS
from headlight.viz.errors import PageError, repr_short
from headlight.viz.field_values import check_choice, check_int
from headlight.viz.figure_phrases import LANGUAGES, phrases
from headlight.viz.lessons import LESSONS
from headlight.viz.lessons.controls import check_controls
from headlight.viz.lessons.lesson import Step
from headlight.viz.lessons.lesson_session import LessonSession, find_lesson, full_request
from headlight.viz.lessons.notebook_code import translate_comments, write_step_code
from headlight.viz.lessons.questions import QuestionOptions, StepView, make_question
from headlight.viz.lessons.wording import (
    fill_formula,
    fill_phrase,
    find_phrase,
    format_model_numbers,
    order_steps,
    step_formula,
    variants,
)
from headlight.viz.service.model_json import model_json
from headlight.viz.service.service import Service
from headlight.viz.token_labels import token_labels

MARKDOWN_CHARACTERS = re.compile(r"([\\`*_{}\[\]()#+!|~$-])")  # special characters of Markdown


@dataclass(frozen=True)
class NotebookSelection:
    """The page's selection: indices from 0, a layer and head per kind of attention, and the controls of each step."""

    positions: Mapping[str, int]
    heads: Mapping[str, tuple[int, int]]
    controls: Mapping[str, Mapping[str, Any]]


def make_notebook_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, str]]:
    """Return the call `lesson_notebook`, which writes the notebook of a lesson for a sentence."""

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
        content = json.dumps(make_notebook(session, request_values, selection, service), ensure_ascii=False, indent=1)
        return {"name": f"headlight-{lesson.name}.ipynb", "content": f"{content}\n"}

    return lesson_notebook


def _to_list(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def parse_selection(values: Any, session: LessonSession, service: Service) -> NotebookSelection:
    """Parse and validate the browser's selection."""
    if not isinstance(values, Mapping):
        raise PageError("look", "not_names", {"given": repr_short(values), "example": '{"token": 0}'})
    translation = session.translation
    counts = {"token": len(session.tokens), "key": len(session.tokens), "written": len(session.written)}
    positions = {name: check_int(name, values.get(name, 0), low=0, high=count - 1) for name, count in counts.items()}
    heads: dict[str, tuple[int, int]] = {}
    for kind in KINDS:
        layers, count = translation.attention.of(kind).shape[:2]
        value = values.get(kind, {})
        indices = value if isinstance(value, Mapping) else {}
        layer = check_int("layer", indices.get("layer", 0), low=0, high=layers - 1)
        heads[kind] = (layer, check_int("head", indices.get("head", 0), low=0, high=count - 1))
    value = values.get("set", {})
    control_values = value if isinstance(value, Mapping) else {}
    controls = {
        step.name: check_controls(step.experiment.controls, control_values.get(step.name), service.settings)
        for step in session.lesson.steps
        if step.experiment is not None
    }
    return NotebookSelection(positions, heads, controls)


# ---------------------------------------------------------------- the cells


def make_notebook(
    session: LessonSession, request: Mapping[str, Any], selection: NotebookSelection, service: Service
) -> dict[str, Any]:
    """Return the notebook as JSON."""
    lesson, table = session.lesson, phrases(session.language)
    title = f"# {table[f'lesson_{lesson.name}_name']}\n\n{table[f'lesson_{lesson.name}_promise']}\n\n"
    introduction = fill_phrase(table["lesson_notebook_says"], {"install": f"`{INSTALL_APP}`", "version": __version__})
    cells = [_make_markdown_cell(title + introduction), _make_code_cell(_write_setup_code(session, request, selection))]
    writer = NotebookWriter(session, selection, service)
    for number, step in enumerate(order_steps(lesson.steps, variants(session.model_values())), start=1):
        cells += writer.cells(number, step)
    for number, cell in enumerate(cells):
        cell["id"] = f"{lesson.name}-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _make_markdown_cell(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text.strip().splitlines(keepends=True)}


def _make_code_cell(text: str) -> dict[str, Any]:
    source = text.strip().splitlines(keepends=True)
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}


def _write_setup_code(session: LessonSession, request: Mapping[str, Any], selection: NotebookSelection) -> str:
    text, *options = [f"{name}={value!r}" for name, value in request.items()]
    arguments = ", ".join(
        [repr(session.lesson.name), text.removeprefix("text="), *options, f"language={session.language!r}"]
    )
    lines = ["import headlight", "", f"lesson = headlight.lesson({arguments})"]
    if any(step.figures for step in session.lesson.steps):
        positions = ", ".join(str(selection.positions[name]) for name in ("token", "key", "written"))
        heads = ", ".join(str(selection.heads[kind]) for kind in KINDS)
        lines = [
            "import numpy as np",
            "import pandas as pd",
            "",
            *lines,
            "tensor = lesson.tensor  # @probe",
        ]
        lines += [f"token, key_token, written = {positions}  # @places", f"{', '.join(KINDS)} = {heads}  # @heads"]
    return translate_comments("\n".join([*lines, "lesson.translation.text"]), phrases(session.language))


class NotebookWriter:
    """Writes the cells of steps."""

    def __init__(self, session: LessonSession, selection: NotebookSelection, service: Service) -> None:
        self.session, self.selection = session, selection
        self.table = phrases(session.language)
        self.model = session.model_values()
        self.settings = service.settings
        self.labels = self.make_labels(service)

    def make_labels(self, service: Service) -> dict[str, str]:
        """Return the selected tokens and the languages, by their names in phrases."""
        session, indices = self.session, self.selection.positions
        translation = session.translation
        info = model_json(service, translation)
        outputs = indices["written"]
        prefix = translation.text[: translation.target_tokens[outputs - 1].end].strip() if outputs else ""
        languages = {
            side: self.table.get(f"language_{info[side]}", info[side] or self.table[f"lesson_any_{side}"])
            for side in ("source", "target")
        }
        tokens = {"token": session.tokens[indices["token"]], "key": session.tokens[indices["key"]]}
        start = token_labels([translation.start_token])[0].text
        read = session.written[outputs - 1] if outputs else start
        return languages | tokens | {"written": session.written[outputs], "read": read, "so_far": prefix or start}

    def cells(self, number: int, step: Step) -> list[dict[str, Any]]:
        """Return the text cell of a step and its code cells."""
        session, lesson = self.session, self.session.lesson
        base = f"lesson_{lesson.name}_{step.name}"
        result = session.run(step.name, **self.selection.controls[step.name]) if step.experiment is not None else None
        active_variants = variants(self.model, result.answer["holds"] if result else ())
        row = self.labels["token"]
        if step.kind != "encoder":
            row = self.session.row_names[self.selection.positions["written"]]
        causal = {"allowed": str(self.selection.positions["written"] + 1), "keys": str(len(session.written))}
        causal["hidden"] = str(len(session.written) - self.selection.positions["written"] - 1)
        numbers = format_model_numbers(self.model) | (result.numbers if result else {})
        ids = {f"id{index + 1}": str(token.id) for index, token in enumerate(session.translation.source_tokens[:3])}
        values = {
            name: _escape_markdown(value) for name, value in ({"row": row} | self.labels | causal | numbers).items()
        }
        values |= {name: f"**{values[name]}**" for name in ("token", "row", "written", "read", "key")}
        question = make_question(self.step_view(step), result)
        words = fill_phrase(find_phrase(self.table, f"{base}_words", active_variants), values)
        title_variants = ["open", *active_variants] if question else active_variants
        lines = [f"## {number}. {find_phrase(self.table, f'{base}_title', title_variants)}"]
        if question:
            words_open = self.table.get(f"{base}_words_open", "")  # exists if the words would reveal the answer
            lines.append(fill_phrase(words_open, values) if words_open else words)
            lines += self.format_question(step, question, values, words if words_open else "")
        else:
            lines.append(words)
        formula = fill_formula(step_formula(step, active_variants).formula, {**numbers, **ids})
        if formula:
            is_stacked = r" \\ " in formula
            lines.append(rf"$$ \begin{{gathered}} {formula} \end{{gathered}} $$" if is_stacked else f"$$ {formula} $$")
        note = find_phrase(self.table, f"{base}_note", active_variants)
        if note and step.experiment is not None:  # the notes of other steps refer to buttons of the page
            lines.append(fill_phrase(note, values))
        return [
            _make_markdown_cell("\n\n".join(lines)),
            *(
                _make_code_cell(translate_comments(cell_code, self.table))
                for cell_code in self.code(step, active_variants, result)
            ),
        ]

    def step_view(self, step: Step) -> StepView:
        """Return the row, layer and head of a step's question."""
        row = self.selection.positions["token" if step.kind == "encoder" else "written"]
        return StepView(self.session, step, row, *self.selection.heads[step.kind], self.model, self.table)

    def format_question(
        self, step: Step, question: QuestionOptions, values: Mapping[str, str], feedback: str
    ) -> list[str]:
        """Return the question with its options, and the folded answer with the step's words."""
        base, phrase_values = f"lesson_{self.session.lesson.name}_{step.name}", dict(values)
        phrase_values |= {name: _escape_markdown(value) for name, value in question.values.items()}
        options = "\n".join(f"- {_escape_markdown(option)}" for option in question.options)
        correct = f"**{_escape_markdown(question.options[question.correct])}**"
        # The answer to a question per setting refers to highlights of the page.
        per_setting = step.question is not None and step.question.ask_per_setting
        answer = "" if per_setting else fill_phrase(self.table[f"{base}_answer"], phrase_values)
        summary = f"<details><summary>{self.table['lesson_just_show']}</summary>"
        folded_parts = [part for part in (correct, answer, feedback) if part]
        return [
            f"> {fill_phrase(self.table[f'{base}_ask'], phrase_values)}",
            options,
            summary,
            *folded_parts,
            "</details>",
        ]

    def code(self, step: Step, active_variants: list[str], result: Any) -> list[str]:
        """Return one cell, or two if the step trains a model."""
        source = f"print(lesson.source({step.name!r}))"
        if result is None:
            divisor = "np.sqrt(queries.shape[-1])" if self.model["scale_scores"] else "1"
            scale = f"np.sqrt({self.model['d_model']})" if self.model["scale_embedding"] else "1"
            return [f"{source}\n{write_step_code(step, active_variants, divisor, scale)}"]
        defaults = {} if step.experiment is None else check_controls(step.experiment.controls, {}, self.settings)
        values = self.selection.controls[step.name]
        arguments = [f"{name}={_to_list(value)!r}" for name, value in values.items() if value != defaults[name]]
        call = ", ".join([repr(step.name), *arguments])
        cells = [f"{source}\nlesson.run({call})"]
        if any(figure["form"] == "trains" for figure in result.answer["figures"]):
            cells.append(f"lesson.train({call})  # @seconds")
        return cells


def _escape_markdown(text: str) -> str:
    """Escape a text, because visitors can type Markdown and HTML."""
    return MARKDOWN_CHARACTERS.sub(r"\\\1", escape(text, quote=False))
