"""Lessons as notebooks: every cell runs in both languages, and a kernel runs the walkthrough."""

from __future__ import annotations

import ast
import asyncio
import builtins
import json
import re
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import headlight
from headlight.viz.errors import PageError
from headlight.viz.figure_phrases import phrases
from headlight.viz.lessons import LESSONS
from headlight.viz.lessons.lesson_session import LessonSession
from headlight.viz.lessons.notebook import make_notebook_call
from headlight.viz.lessons.notebook_code import translate_comments
from headlight.viz.lessons.notebook_map import NumberMap
from headlight.viz.lessons.questions import QuestionOptions, StepView, make_question
from headlight.viz.lessons.result_tables import ResultTables
from headlight.viz.lessons.tensors import model_values
from headlight.viz.lessons.wording import fill_formula, find_phrase, format_model_numbers, make_formula_parts, variants
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from tests.jupyter import isolate_kernel
from tests.viz.lessons.asked import SENTENCES

ROOT = Path(__file__).resolve().parents[3]
HOSTILE = "ich <b>mochte</b> `ein` $bier$ ![x](https://example.org/x.png)"
LOOK = {"token": 2, "key": 1, "written": 1, "encoder": {"layer": 1, "head": 3}, "cross": {"layer": 0, "head": 1}}


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings())


def lesson_notebook(service: Service, lesson: str, **more: Any) -> dict[str, Any]:
    """A notebook as sent to the page, validated by Jupyter."""
    request = {"text": "ich mochte ein bier", "model": "toy"}
    answer = make_notebook_call(service)({"lesson": lesson, "language": "en", "request": request, "look": LOOK} | more)
    assert answer["name"] == f"headlight-{lesson}.ipynb"
    import nbformat  # imported here, because it takes seconds

    nbformat.validate(nbformat.reads(answer["content"], as_version=4))
    notebook: dict[str, Any] = json.loads(answer["content"])
    return notebook


def texts(notebook: Mapping[str, Any], kind: str) -> list[str]:
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == kind]


def computed(code: str, known: dict[str, Any]) -> Any:
    """The output of a cell."""
    tree = ast.parse(code)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr), code
    exec(compile(tree, "cell", "exec"), known)  # noqa: S102 - what a reader would run
    return eval(compile(ast.Expression(last.value), "cell", "eval"), known)  # noqa: S307


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("lesson", [lesson.name for lesson in LESSONS])
def test_every_notebook_cell_runs(
    lesson: str, language: str, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def practice(name: str, text: str = "", **options: Any) -> LessonSession:
        return LessonSession(name, text, service=service, **options)

    monkeypatch.setattr(headlight, "lesson", practice, raising=False)
    notebook = lesson_notebook(service, lesson, language=language)
    paragraphs, cells = texts(notebook, "markdown"), texts(notebook, "code")
    steps = next(each.steps for each in LESSONS if each.name == lesson)
    assert len(paragraphs) == len(steps) + 1
    for text in paragraphs:
        lines = [line for line in text.split("\n") if not line.startswith("$$")]
        assert not re.findall(r"\{\w+\}", "\n".join(lines)), text
        assert not re.findall(r"@\w|\\text\{\?\}", text), text
    known: dict[str, Any] = {"display": repr}
    for code in cells:
        if "lesson.train(" in code:
            continue
        result = computed(code, known)
        if isinstance(result, ResultTables):
            assert "<table" in result._repr_html_()
        else:
            assert isinstance(result, str | pd.DataFrame | NumberMap), code


# ZeroMQ's sockets and the kernel process end with the client's event loop; Python notices it later.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_walkthrough_notebook_runs_in_kernel(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate_kernel(monkeypatch, tmp_path)
    import nbformat  # imported here, as above
    from nbclient import NotebookClient

    notebook = nbformat.reads(json.dumps(lesson_notebook(service, "walk")), as_version=4)
    client = NotebookClient(
        notebook, timeout=None, store_widget_state=False, resources={"metadata": {"path": tmp_path}}
    )
    asyncio.run(client.async_execute())
    outputs = [str(output.get("data", "")) for cell in notebook.cells for output in cell.get("outputs", [])]
    assert "i want a beer" in outputs[0]
    assert any("<table" in output for output in outputs)


def test_masked_map_has_the_columns_that_are_read(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def practice(name: str, text: str = "", **options: Any) -> LessonSession:
        return LessonSession(name, text, service=service, **options)

    monkeypatch.setattr(headlight, "lesson", practice)
    first, *cells = texts(lesson_notebook(service, "walk"), "code")
    known: dict[str, Any] = {"display": repr}
    computed(first, known)
    lesson, table = known["lesson"], computed(next(code for code in cells if "causal=True" in code), known)
    assert list(table.frame.columns) == lesson.decoder_tokens == ["<s>", *lesson.written[:-1]]
    assert list(table.frame.index) == lesson.row_names
    assert table.frame.iloc[0, 0] == 1.0  # the first row attends to the start token, the only one that it has read
    assert lesson.row_names[1] == f"{lesson.written[0]} → {lesson.written[1]}"


@pytest.mark.parametrize("model", SENTENCES)
def test_walk_notebook_computes_products_with_the_models_matrices(model: str, service: Service) -> None:
    request = {"text": SENTENCES[model], "model": model}
    code = "\n".join(
        texts(
            lesson_notebook(service, "walk", request=request, look=LOOK | {"encoder": {"layer": 0, "head": 1}}), "code"
        )
    )
    for name, layer in (("q", "self_attention.query"), ("o", "self_attention.output"), ("h_1", "feed_forward.wide")):
        assert f"{name} = lesson.linear(" in code
        assert f".{layer}" in code
    assert code.count("np.testing.assert_allclose(q, queries, atol=1e-3)") == 1
    lesson = LessonSession("walk", SENTENCES[model], model=model, service=service)
    norm_first = lesson.model_values()["norm_first"]
    place = f"encoder.layers.0.around_self_attention.{'normed' if norm_first else 'carried'}"
    by_hand = lesson.linear(lesson.tensor(place), "encoder.layers.0.self_attention.query")
    heads = lesson.tensor("encoder.layers.0.self_attention.queries")
    np.testing.assert_allclose(by_hand.reshape(len(by_hand), len(heads), -1).swapaxes(0, 1), heads, atol=1e-4)


def test_notebook_cells_leave_the_names_of_python(service: Service) -> None:
    for lesson in LESSONS:
        for code in texts(lesson_notebook(service, lesson.name), "code"):
            stored = {
                node.id
                for node in ast.walk(ast.parse(code))
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
            assert not stored & set(dir(builtins)), code


def test_user_text_is_escaped_in_notebook(service: Service) -> None:
    look = LOOK | {"token": 1, "encoder": {"layer": 0, "head": 0}}
    notebook = lesson_notebook(service, "walk", request={"text": HOSTILE, "model": "de-en"}, look=look)
    for text in texts(notebook, "markdown"):
        assert "<b>" not in text
        assert "](" not in text.replace("\\](", "").replace("\\]\\(", "")
    first = texts(notebook, "code")[0]
    call = next(node for node in ast.walk(ast.parse(first)) if isinstance(node, ast.Call))
    assert ast.literal_eval(call.args[1]) == HOSTILE


def test_selection_and_controls_are_in_cells(service: Service) -> None:
    request = {"text": "ich mochte ein bier", "model": "toy", "beam_size": 2, "target": "i want a beer ."}
    walk = texts(lesson_notebook(service, "walk", request=request), "code")[0]
    assert "beam_size=2" in walk
    assert "length_penalty" not in walk  # the default of the model
    assert "target='i want a beer .'" in walk
    assert "token, key_token, written = 2, 1, 1" in walk
    assert "encoder, decoder, cross = (1, 3), (0, 0), (0, 1)" in walk
    notebook = lesson_notebook(service, "heads", look=LOOK | {"set": {"spread": {"width": "64", "seed": 3}}})
    assert any("lesson.run('spread', width='64', seed=3)" in code for code in texts(notebook, "code"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"lesson": "other"}, {"language": "xx"}, {"look": None}, {"look": LOOK | {"token": 99}},
        {"look": LOOK | {"encoder": {"layer": 9, "head": 0}}}, {"look": LOOK | {"key": "1"}},
        {"lesson": "heads", "look": {"set": {"spread": {"width": "5"}}}}, {"request": {"text": ""}},
    ],
)  # fmt: skip
def test_invalid_values_are_rejected(wrong: dict[str, Any], service: Service) -> None:
    with pytest.raises(PageError):
        lesson_notebook(service, **{"lesson": "walk"} | wrong)


# ---------------------------------------------------------------- the questions


def questions(service: Service, lesson: str, language: str = "en", model: str = "de-en") -> dict[str, QuestionOptions]:
    """Those of a lesson, by their steps, for a sentence and the first row, layer and head of each kind."""
    practice = LessonSession(lesson, SENTENCES[model], model=model, language=language, service=service)
    model_said, table = practice.model_values(), phrases(language)
    questions = {}
    for step in practice.lesson.steps:
        experiment = practice.run(step.name) if step.experiment else None
        asked = make_question(StepView(practice, step, 1, 0, 0, model_said, table), experiment)
        if asked:
            questions[step.name] = asked
    return questions


@pytest.mark.parametrize("lesson", ["walk", "masks", "verdict"])
def test_notebook_questions_have_collapsed_answers(lesson: str, service: Service) -> None:
    request = {"text": SENTENCES["de-en"], "model": "de-en"}
    look = {"token": 1, "key": 0, "written": 1}
    paragraphs = texts(lesson_notebook(service, lesson, request=request, look=look, language="zh"), "markdown")
    asked = questions(service, lesson, "zh")
    assert len(asked) == sum("<details>" in text for text in paragraphs)
    for (number, step), text in zip(
        enumerate(next(each.steps for each in LESSONS if each.name == lesson), start=1), paragraphs[1:], strict=True
    ):
        if step.name not in asked:
            continue
        assert text.startswith(f"## {number}. ")
        before, _, folded = text.partition("<details>")
        right = asked[step.name].options[asked[step.name].correct]
        assert f"**{right}**" in unescape(folded.replace("\\", ""))
        assert [line[2:] for line in unescape(before.replace("\\", "")).split("\n") if line.startswith("- ")] == list(
            asked[step.name].options
        )
        assert not re.findall(r"\{\w+\}", text.partition("$$")[0]), text


def test_correct_answers_are_computed_from_sentence(service: Service) -> None:
    asked = questions(service, "walk")
    translation = service.translate(service.check({"text": SENTENCES["de-en"], "model": "de-en"}, model_defaults=True))
    assert asked["tokens"].options[asked["tokens"].correct] == str(len(translation.source_tokens))
    row = translation.attention.cross[0, 0, 1]
    first, second = sorted(row, reverse=True)[:2]
    assert ("cross" in asked) == (first - second >= 0.1)
    if "cross" in asked:
        assert asked["cross"].correct == row.argmax()
        assert abs(float(asked["cross"].values["weight"]) - first) < 1e-3
    token = translation.target_tokens[1]
    assert asked["next"].options[asked["next"].correct].strip() == token.text.strip()
    assert abs(float(asked["next"].values["first_chance"]) - (token.probability or 0)) < 1e-3
    assert asked["mask"].correct == 0
    assert asked["softmax"].correct == 1
    assert asked["scale"].values["without"] > asked["scale"].values["scaled"]
    awake, of = int(asked["ff"].values["awake"]), 1024
    assert asked["ff"].correct == (0 if awake / of > 0.5 else 1 if awake / of > 0.1 else 2)


def test_inconclusive_questions_are_omitted(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headlight.viz.lessons.questions.MIN_MARGIN", 20.0)
    assert not {"cross", "next", "scale"} & set(questions(service, "walk"))


def test_cell_comments_use_notebook_language(service: Service) -> None:
    table = phrases("zh")
    code = "\n".join(texts(lesson_notebook(service, "walk", language="zh"), "code"))
    assert all(f"# {table[f'lesson_code_{name}']}" in code for name in ("probe", "places", "heads", "products", "ones"))
    assert f"# {table['lesson_code_seconds']}" in "".join(
        texts(lesson_notebook(service, "train", language="zh"), "code")
    )
    assert not re.findall(r"# @\w", code)
    line = "x = 'a  # @ones'"
    assert translate_comments(f"{line}  # @ones", table) == f"{line}  # {table['lesson_code_ones']}"
    assert translate_comments(f"{line}\n", table) == f"{line}\n"  # quoted parts are text


# ---------------------------------------------------------------- the lesson in Python


def test_lesson_tensors_match_model(service: Service) -> None:
    lesson = LessonSession("walk", "ich mochte ein bier", model="toy", service=service)
    scores = lesson.tensor("encoder.layers.0.self_attention.scores")  # [heads, queries, keys]
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(weights, lesson.translation.attention.encoder[0], atol=1e-5)
    assert list(lesson.table(weights[0]).columns) == lesson.tokens
    assert "softmax" in lesson.source("softmax")
    best = [row["best"][0][0] for row in lesson.logits()]
    assert best == lesson.written


@pytest.mark.slow
def test_training_steps_train_small_models(service: Service) -> None:
    lesson = LessonSession("train", "ich mochte ein bier", model="toy", service=service)
    table = lesson.train("order", layers="1", heads="1", d_model="16")
    assert set(table["run"]) == {1, 2}
    first, last = table[table["run"] == 1]["loss"].iloc[[1, -1]]
    assert last < first
    with pytest.raises(ValueError, match="does not train a model"):
        LessonSession("heads", "ich mochte ein bier", model="toy", service=service).train("spread")


def test_unknown_names_error_lists_known_names(service: Service) -> None:
    with pytest.raises(ValueError, match="walk, "):
        headlight.lesson("wolk")
    with pytest.raises(ValueError, match="en, zh"):
        LessonSession("walk", language="de", service=service)
    with pytest.raises(ValueError, match="spread"):
        LessonSession("heads", "ich mochte ein bier", model="toy", service=service).run("spraed")


@pytest.mark.parametrize("activation", ["relu", "gelu", "swiglu"])
def test_formulas_and_phrases_match_model(activation: str, service: Service) -> None:
    model = model_values(service.model_info("toy")) | {"activation": activation, "attention_bias": False}
    assert make_formula_parts(model)["its_b_q"] == r"\,"
    assert make_formula_parts(model | {"attention_bias": True})["its_b_o"] == r"\, + b_O"
    hidden = {"relu": r"\max(0, x W_1", "gelu": r"\text{GELU}(x W_1", "swiglu": r"(\text{SiLU}(x W_g"}
    assert make_formula_parts(model)["its_hidden"].startswith(hidden[activation])
    assert fill_formula("@its_hidden + @d_model", format_model_numbers(model)).endswith(f"+ {model['d_model']}")
    assert fill_formula("@nobody", {}) == r"\text{?}"
    holding = variants(model, ("found",))
    assert holding[:3] == ["found", "layer", "post"]
    table = {"a": "plain", "a_post": "after the sum"}
    assert find_phrase(table, "a", holding) == "after the sum"
    assert find_phrase(table, "b", holding) == ""
    assert phrases("zh")["lesson_notebook_says"]
