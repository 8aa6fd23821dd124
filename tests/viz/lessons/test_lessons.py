"""Lessons: every claim of every step holds for the live models, before and after the norm, and every word is there."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from headlight.model.core.attention import attention_scores
from headlight.model.core.positions import sinusoids
from headlight.model.records import KINDS, FloatArray, Translation
from headlight.viz.answers.service import Service
from headlight.viz.errors import PageError
from headlight.viz.lessons import LESSONS, tensors
from headlight.viz.lessons.lesson import Lesson, Step
from headlight.viz.lessons.source import ROOT, source_values
from headlight.viz.lessons.tensors import LOGITS, MOST_NAMES, tensors_of
from headlight.viz.settings import Settings
from headlight.viz.tabs.learn import read_lessons
from headlight.viz.wire.rpc import answering
from headlight.viz.words import LANGUAGES, words

# One of each way to build it: the norm before each part, and after the sum.
SENTENCES = {"de-en": "Der Hund schläft im Garten.", "toy": "ich mochte ein bier"}
CLOSE = 2e-5


class Asked:
    """What a browser would have of one sentence: tensors by path, asked for as they are needed."""

    def __init__(self, service: Service, model: str) -> None:
        self.request = {"text": SENTENCES[model], "model": model}
        self.ask = tensors_of(service)
        self.translation: Translation = service.translate(service.check(self.request))
        self.translator = service.translator(model)
        self.config = self.translator.model.config

    def answer(self, *names: str) -> dict[str, Any]:
        return self.ask({"request": self.request, "names": list(names)})

    def tensor(self, name: str) -> FloatArray:
        return unpacked(self.answer(name)["tensors"][name])

    def encoder(self, name: str, layer: int = 0) -> FloatArray:
        return self.tensor(f"encoder.layers.{layer}.self_attention.{name}")


def unpacked(sent: Mapping[str, Any]) -> FloatArray:
    return np.frombuffer(base64.b64decode(sent["numbers"]), dtype="<f4").reshape(sent["shape"])


def softmax(scores: FloatArray) -> FloatArray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings())


@pytest.fixture(scope="module", params=SENTENCES)
def asked(request: pytest.FixtureRequest, service: Service) -> Asked:
    return Asked(service, request.param)


def steps() -> list[tuple[Lesson, Step]]:
    return [(lesson, step) for lesson in LESSONS for step in lesson.steps]


# ---------------------------------------------------------------- what the words say, number by number


def ids_within_vocabulary(asked: Asked) -> None:
    assert all(0 <= token.id < asked.config.source_vocabulary for token in asked.translation.source_tokens)


def ends_with_end(asked: Asked) -> None:
    assert asked.translation.source_tokens[-1].special
    assert not any(token.special for token in asked.translation.source_tokens[:-1])


def embedding_is_scaled(asked: Asked) -> None:
    table = asked.translator.model.encoder.embedding.table.weight.detach().numpy()
    rows = table[[token.id for token in asked.translation.source_tokens]]
    scale = math.sqrt(asked.config.d_model) if asked.config.scale_embedding else 1.0
    np.testing.assert_allclose(asked.tensor("encoder.embedding.embedded"), scale * rows, atol=CLOSE)


def positions_add_up(asked: Asked) -> None:
    added = asked.tensor("encoder.embedding.positioned") - asked.tensor("encoder.embedding.embedded")
    np.testing.assert_allclose(added, asked.translation.positions["encoder"][: len(added)], atol=CLOSE)


def positions_are_waves(asked: Asked) -> None:
    length = len(asked.translation.source_tokens)
    table = sinusoids(length, asked.config.d_model).numpy()
    np.testing.assert_allclose(asked.translation.positions["encoder"][:length], table, atol=CLOSE)
    left, right = (np.abs(np.diff(table[:, columns], axis=0)).mean() for columns in (slice(0, 2), slice(-2, None)))
    assert left > 100 * right  # the left ones change fast, the right ones hardly at all


def heads_split_the_width(asked: Asked) -> None:
    tokens, config = len(asked.translation.source_tokens), asked.config
    for name in ("queries", "keys", "values"):
        assert asked.encoder(name).shape == (config.heads, tokens, config.width_of_head)


def products_add_up(asked: Asked) -> None:
    queries, keys = asked.encoder("queries"), asked.encoder("keys")
    products = queries[:, :, None] * keys[:, None]  # [heads, queries, keys, width]
    raw = products.sum(axis=-1)
    np.testing.assert_allclose(raw / math.sqrt(asked.config.width_of_head), asked.encoder("scores"), atol=1e-4)


def scaled_is_divided(asked: Asked) -> None:
    queries, keys = (torch.from_numpy(asked.encoder(name).copy()) for name in ("queries", "keys"))
    by_function = attention_scores(queries[None], keys[None])[0].numpy()
    np.testing.assert_allclose(by_function, asked.encoder("scores"), atol=1e-4)


def weights_sum_to_one(asked: Asked) -> None:
    np.testing.assert_allclose(softmax(asked.encoder("scores")).sum(axis=-1), 1.0, atol=1e-6)


def hand_softmax_is_the_models(asked: Asked) -> None:
    for layer in range(asked.config.encoder_layers):
        powers = np.exp(asked.encoder("scores", layer).astype(np.float64))  # number by number, as the table shows it
        by_hand = powers / powers.sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(by_hand, asked.translation.attention.encoder[layer], atol=1e-5)


def shift_changes_nothing(asked: Asked) -> None:
    scores = asked.encoder("scores").astype(np.float64)
    np.testing.assert_allclose(softmax(scores + 5), softmax(scores), atol=1e-12)


def mixture_adds_up(asked: Asked) -> None:
    mixed = softmax(asked.encoder("scores")) @ asked.encoder("values")
    np.testing.assert_allclose(mixed, asked.encoder("mixed"), atol=1e-4)


def heads_fill_the_vector(asked: Asked) -> None:
    heads, tokens, width = asked.encoder("mixed").shape
    assert heads * width == asked.translator.model.encoder.layers[0].self_attention.output.in_features
    assert asked.encoder("attended").shape == (tokens, asked.config.d_model)


def attended_is_added(asked: Asked) -> None:
    place = "encoder.layers.0.around_self_attention"
    total = asked.tensor(f"{place}.carried") + asked.encoder("attended")
    stream = asked.tensor(f"{place}.stream")
    if asked.config.norm_first:
        np.testing.assert_allclose(total, stream, atol=1e-4)
    else:
        np.testing.assert_allclose(normed(total, asked, place), stream, atol=1e-4)


def normed(x: FloatArray, asked: Asked, place: str) -> FloatArray:
    norm = asked.translator.model.get_submodule(f"{place}.norm")
    centred = x - x.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + asked.config.norm_epsilon)
    return scaled * norm.weight.detach().numpy() + norm.bias.detach().numpy()


def norm_centres(asked: Asked) -> None:
    place = "encoder.layers.0.around_self_attention"
    source = asked.tensor(f"{place}.carried")
    if asked.config.norm_first:
        np.testing.assert_allclose(asked.tensor(f"{place}.normed"), normed(source, asked, place), atol=1e-4)
    else:
        np.testing.assert_array_equal(asked.tensor(f"{place}.normed"), asked.tensor(f"{place}.stream"))


def relu_is_never_negative(asked: Asked) -> None:
    assert asked.config.activation == "relu"
    for layer in range(asked.config.encoder_layers):
        hidden = asked.tensor(f"encoder.layers.{layer}.feed_forward.hidden")
        assert hidden.shape[1] == asked.config.d_ff
        assert hidden.min() == 0.0  # and some of them are silent


def feed_forward_is_added(asked: Asked) -> None:
    place = "encoder.layers.0.around_feed_forward"
    total = asked.tensor(f"{place}.carried") + asked.tensor("encoder.layers.0.feed_forward.output")
    expected = total if asked.config.norm_first else normed(total, asked, place)
    np.testing.assert_allclose(expected, asked.tensor(f"{place}.stream"), atol=1e-4)


def memory_is_one_vector_a_token(asked: Asked) -> None:
    memory = asked.tensor("encoder.memory")
    assert memory.shape == (len(asked.translation.source_tokens), asked.config.d_model)
    layer = asked.translator.model.decoder.layers[0].cross_attention
    keys = memory @ layer.key.weight.detach().numpy().T + layer.key.bias.detach().numpy()
    split = keys.reshape(len(keys), asked.config.heads, -1).swapaxes(0, 1)
    # The decoder's keys are made of it, and of nothing else of the source.
    np.testing.assert_allclose(split, asked.tensor("decoder.layers.0.cross_attention.keys"), atol=1e-3)
    stages = [asked.tensor("encoder.embedding.positioned")]
    stages += [
        asked.tensor(f"encoder.layers.{layer}.around_feed_forward.stream")
        for layer in range(asked.config.encoder_layers)
    ]
    if asked.config.norm_first:  # layers add, so the stream grows
        first, last = (np.linalg.norm(stage, axis=-1).mean() for stage in (stages[0], stages[-1]))
        assert last > first


def later_keys_get_nothing(asked: Asked) -> None:
    weights = asked.translation.attention.decoder
    assert (np.triu(np.ones(weights.shape[-2:]), k=1) * weights == 0.0).all()
    scores = asked.tensor("decoder.layers.0.self_attention.scores")
    assert (softmax(scores) * np.triu(np.ones(scores.shape[-2:]), k=1)).max() > 0.0  # without the mask they would


def causal_rows_sum_to_one(asked: Asked) -> None:
    np.testing.assert_allclose(asked.translation.attention.decoder.sum(axis=-1), 1.0, atol=1e-5)


def cross_rows_sum_to_one(asked: Asked) -> None:
    scores = asked.tensor("decoder.layers.0.cross_attention.scores")
    np.testing.assert_allclose(softmax(scores), asked.translation.attention.cross[0], atol=1e-5)
    np.testing.assert_allclose(asked.translation.attention.cross.sum(axis=-1), 1.0, atol=1e-5)


def logits_are_no_probabilities(asked: Asked) -> None:
    rows = asked.answer(LOGITS)["logits"]
    assert len(rows) == len(asked.translation.target_tokens)
    for row in rows:
        assert row["low"] < 0 < row["high"]
        assert sum(row["counts"]) == asked.config.target_vocabulary
        assert row["mean"] * asked.config.target_vocabulary != pytest.approx(1.0, abs=0.5)


def chances_are_the_translations(asked: Asked) -> None:
    for row, token in zip(asked.answer(LOGITS)["logits"], asked.translation.target_tokens, strict=True):
        chances = {place: math.exp(logit - row["log_sum"]) for _, place, logit in row["best"]}
        if token.id in chances:
            assert chances[token.id] == pytest.approx(token.probability, abs=1e-4)
        assert sum(chances.values()) <= 1 + 1e-6
        assert list(chances.values()) == sorted(chances.values(), reverse=True)


CLAIMS: dict[str, Callable[[Asked], None]] = {
    name: check
    for name, check in list(globals().items())
    if callable(check) and name in {claim for _, step in steps() for claim in step.claims}
}


@pytest.mark.parametrize("claim", sorted({claim for _, step in steps() for claim in step.claims}))
def test_what_the_words_claim_is_so(claim: str, asked: Asked) -> None:
    CLAIMS[claim](asked)


def test_every_step_claims_something() -> None:
    assert all(step.claims for _, step in steps())


# ---------------------------------------------------------------- words


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("lesson", "step"), steps(), ids=lambda each: each.name)
def test_every_step_has_its_words(lesson: Lesson, step: Step, language: str) -> None:
    table = words(language)
    base = f"lesson_{lesson.name}_{step.name}"
    assert f"{base}_title" in table
    said = [text for key, text in table.items() if re.fullmatch(rf"{base}_words(_[a-z]+)?", key)]
    assert said
    for text in said:
        count = len(text.split()) if language == "en" else len(text)
        assert count <= (60 if language == "en" else 110), text  # two sentences: what happens, and why
    for part in step.parts:
        assert f"{base}_part_{part}" in table
    if step.ask is not None:
        assert {f"{base}_ask", f"{base}_answer"} <= set(table)
        if not set(step.ask.options) <= {"counts", "keys", "candidates"}:
            assert {f"{base}_option_{option}" for option in step.ask.options} <= set(table)
    shows = [show for figure in step.figures if figure.form not in ("table", "bars") for show in figure.shows]
    for show in shows:
        assert f"lesson_tensor_{show.name}" in table or f"lesson_row_{show.name}" in table, show.name
    assert f"lesson_part_{step.node.replace('.', '_')}" in table or not lesson.drawing


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_of_lessons_keep_to_the_terms(language: str) -> None:
    """One verb for what attention does, no exclamation marks, and in Chinese the pronoun of a friend."""
    said = {key: text for key, text in words(language).items() if key.startswith("lesson_")}
    for key, text in said.items():
        assert not re.search(r"[!！]|您|\bsimply\b|\blet us\b", text), key
        assert "为一" not in text, key


def test_every_lesson_has_its_name_and_promise() -> None:
    for language in LANGUAGES:
        for lesson in LESSONS:
            assert {f"lesson_{lesson.name}_name", f"lesson_{lesson.name}_promise"} <= set(words(language))


# ---------------------------------------------------------------- source


@pytest.mark.parametrize(("lesson", "step"), steps(), ids=lambda each: each.name)
def test_the_lit_line_is_in_the_source_with_its_own_number(lesson: Lesson, step: Step) -> None:
    code = step.code.as_json()
    held = dict(code["lines"])
    texts = {"": step.code.lit} | dict([step.code.lit_otherwise] if step.code.lit_otherwise else [])
    for holds, text in texts.items():
        for number in code["otherwise"][holds] if holds else code["lit"]:
            assert text in held[number]


def test_line_numbers_are_those_of_the_file() -> None:
    values = source_values(attention_scores, "transpose(-2, -1)")
    lines = (ROOT / values["file"]).read_text(encoding="utf-8").splitlines()
    assert all(lines[number - 1].strip() == text.strip() for number, text in values["lines"])


def test_a_line_that_is_gone_is_an_error() -> None:
    with pytest.raises(LookupError, match="attention_scores has no line with 'teleport'"):
        source_values(attention_scores, "teleport")


# ---------------------------------------------------------------- what the browser gets


def test_lessons_travel_as_plain_json() -> None:
    told = json.loads(answering(read_lessons, computes=False)("{}"))
    assert [lesson["name"] for lesson in told] == [lesson.name for lesson in LESSONS]
    assert [step["name"] for step in told[0]["steps"]] == [step.name for step in LESSONS[0].steps]


def test_tensors_are_those_of_the_sentence(asked: Asked) -> None:
    again = asked.answer("encoder.layers.0.self_attention.scores", "decoder.layers.0.cross_attention.queries")
    assert set(again["tensors"]) == {
        "encoder.layers.0.self_attention.scores",
        "decoder.layers.0.cross_attention.queries",
    }
    assert again["model"]["norm_first"] == asked.config.norm_first
    shape = again["tensors"]["decoder.layers.0.cross_attention.queries"]["shape"]
    assert shape == [asked.config.heads, len(asked.translation.target_tokens), asked.config.width_of_head]


def test_equal_tensors_are_computed_once(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []
    compute = service._compute
    monkeypatch.setattr(service, "_on_gpu", None)
    monkeypatch.setattr(service, "_compute", lambda request: runs.append(request) or compute(request))
    ask = tensors_of(service)
    values = {"request": {"text": "ich mochte ein cola", "model": "toy"}, "names": ["encoder.memory"]}
    assert ask(values) == ask(values)
    assert len(runs) == 2  # the translation, and one look at it
    assert runs[1] == replace(runs[0], target=runs[1].target, capture=runs[1].capture)


@pytest.mark.parametrize(
    ("names", "word"),
    [
        ([], "not_names"),
        (None, "not_names"),
        ("encoder.memory", "not_names"),
        (["encoder.memory"] * (MOST_NAMES + 1), "not_names"),
        (["encoder.*"], "unknown_name"),
        (["**"], "unknown_name"),
        (["encoder.layers.99.self_attention.scores"], "unknown_name"),
        (["__class__.attended"], "unknown_name"),
        ([3], "unknown_name"),
    ],
)
def test_what_no_model_has_is_refused(service: Service, names: Any, word: str) -> None:
    with pytest.raises(PageError) as error:
        tensors_of(service)({"request": {"text": "ich", "model": "toy"}, "names": names})
    assert error.value.word == word


def test_a_lesson_names_no_tensor_that_a_model_lacks(asked: Asked) -> None:
    """Every probe path that steps name as a whole is there."""
    paths = {show.path for _, step in steps() for figure in step.figures for show in figure.shows}
    whole = [path for path in paths if path.startswith(("encoder.", "decoder."))]
    assert whole
    assert set(asked.answer(*whole)["tensors"]) == set(whole)
    assert {step.kind for _, step in steps()} <= set(KINDS)


def test_what_would_hold_too_many_numbers_is_refused_before_it_is_computed(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = {"text": "Ich trinke ein Bier.", "model": "toy"}
    translator = service.translator("toy")
    translation = service.translate(service.check(request))
    names = ["encoder.layers.0.self_attention.scores", LOGITS, "encoder.layers.0.self_attention.queries"]
    captured = tensors.capture(service, translation, translator, names)
    needed = tensors.expected_numbers(names, translation, translator)
    assert sum(array.size for array in captured.values()) <= needed
    monkeypatch.setattr(tensors, "MOST_CAPTURED", needed - 1)
    monkeypatch.setattr(tensors, "capture", lambda *given: pytest.fail("It was computed all the same."))
    told = json.loads(answering(tensors_of(service))(json.dumps({"request": request, "names": names})))
    assert (told["what"], told["word"]) == ("error", "too_long_to_show")
