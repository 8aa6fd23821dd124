"""The lesson "Build it yourself": numbers by plain loops, stored results from the weights, lines by tests."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headlight.model.training.build_lesson import checks, lines, numbers
from headlight.model.training.build_lesson.expressions import MAX_CHARACTERS, LineError, run_expression
from headlight.model.training.build_lesson.fit import (
    continue_training,
    losses,
    rate_factor,
    round_to_decimal,
    train,
    translate,
)
from headlight.model.training.build_lesson.lesson_file import LessonFile, file_text, read_file
from headlight.model.training.build_lesson.lines import GAPS, run_line, run_sides
from headlight.model.training.build_lesson.model import POSITIONS, Weights, forward
from headlight.model.training.build_lesson.numbers import rows_to_draw
from headlight.model.training.build_lesson.parts import ALL_PARTS, BUILD_ORDER, VARIANTS, Parts, parts_through
from headlight.model.training.build_lesson.printed import printed_numbers, rounded
from headlight.model.training.build_lesson.results import is_right, measure
from headlight.model.training.build_lesson.script import script_text
from headlight.model.training.build_lesson.sentences import (
    END,
    HELD_OUT_PAIRS,
    MAIN_PAIR,
    PAIRS,
    SOURCE_WORDS,
    START,
    TARGET_WORDS,
    TRAINING_PAIRS,
    SentencePair,
    make_batch,
)
from headlight.model.training.build_lesson.trained import alignment

Rows = list[list[float]]


@pytest.fixture(scope="module")
def lesson() -> LessonFile:
    return read_file()


# ---------------------------------------------------------------- the model by plain loops


def times(a: Rows, b: Rows) -> Rows:
    return [[sum(x * b[k][j] for k, x in enumerate(row)) for j in range(len(b[0]))] for row in a]


def add(a: Rows, b: Rows) -> Rows:
    return [[x + y for x, y in zip(r, s, strict=True)] for r, s in zip(a, b, strict=True)]


def loop_softmax(row: Sequence[float]) -> list[float]:
    powers = [math.exp(x - max(row)) for x in row]
    return [power / sum(powers) for power in powers]


def loop_norm(rows: Rows) -> Rows:
    normed = []
    for row in rows:
        mean = sum(row) / len(row)
        variance = sum((x - mean) ** 2 for x in row) / len(row)
        normed.append([(x - mean) / math.sqrt(variance + 1e-5) for x in row])
    return normed


class PlainModel:
    """The whole model with lists and loops, for one sentence without padding."""

    def __init__(self, weights: Weights) -> None:
        self.weights: dict[str, Rows] = {name: matrix[0].tolist() for name, matrix in weights.items()}

    def place(self, position: int) -> list[float]:
        angles = [position / 100 ** (2 * pair / 4) for pair in range(2)]
        return [round(value, 1) for angle in angles for value in (math.sin(angle), math.cos(angle))]

    def embed(self, table: str, ids: Sequence[int]) -> Rows:
        rows = [self.weights[table][index] for index in ids]
        return add(rows, [self.place(position) for position in range(len(ids))])

    def attend(self, place: str, query_rows: Rows, key_rows: Rows, *, causal: bool = False) -> tuple[Rows, list[Rows]]:
        query, key, value = (
            times(rows, self.weights[f"{place}.{name}"])
            for rows, name in ((query_rows, "query"), (key_rows, "key"), (key_rows, "value"))
        )
        joined: Rows = [[] for _ in query_rows]
        shares = []
        for head in range(2):
            columns = range(2 * head, 2 * head + 2)
            head_shares = []
            for row, q in enumerate(query):
                seen = range(row + 1) if causal else range(len(key))
                weights = loop_softmax([sum(q[c] * key[k][c] for c in columns) / math.sqrt(2) for k in seen])
                head_shares.append(weights + [0.0] * (len(key) - len(weights)))
                joined[row] += [sum(weight * value[k][c] for k, weight in enumerate(weights)) for c in columns]
            shares.append(head_shares)
        return times(joined, self.weights[f"{place}.joined"]), shares

    def network(self, side: str, x: Rows) -> Rows:
        hidden = [[max(0.0, number) for number in row] for row in times(x, self.weights[f"{side}.inner"])]
        return loop_norm(add(x, times(hidden, self.weights[f"{side}.outer"])))

    def run(self, source: Sequence[int], read: Sequence[int]) -> tuple[Rows, dict[str, Any]]:
        x = self.embed("source_table", source)
        received, encoder_shares = self.attend("encoder", x, x)
        memory = self.network("encoder", loop_norm(add(x, received)))
        y = self.embed("target_table", read)
        received, decoder_shares = self.attend("decoder", y, y, causal=True)
        y = loop_norm(add(y, received))
        received, cross_shares = self.attend("cross", y, memory)
        y = self.network("decoder", loop_norm(add(y, received)))
        shares = {"encoder.shares": encoder_shares, "decoder.shares": decoder_shares, "cross.shares": cross_shares}
        return times(y, self.weights["output"]), shares | {"memory": memory, "decoder.output": y}

    def loss(self, pairs: Sequence[SentencePair]) -> float:
        total, count = 0.0, 0
        for pair in pairs:
            words = [START, *pair.target, END]
            ids = [TARGET_WORDS.index(word) for word in words]
            logits, _ = self.run([SOURCE_WORDS.index(word) for word in pair.source], ids[:-1])
            for row, expected in zip(logits, ids[1:], strict=True):
                total -= math.log(loop_softmax(row)[expected])
                count += 1
        return total / count

    def translate(self, pair: SentencePair) -> tuple[str, ...]:
        ids = [TARGET_WORDS.index(START)]
        source = [SOURCE_WORDS.index(word) for word in pair.source]
        for _ in range(8):
            row = self.run(source, ids)[0][-1]
            ids.append(row.index(max(row)))
            if TARGET_WORDS[ids[-1]] == END:
                break
        return tuple(TARGET_WORDS[index] for index in ids[1:])


def test_results_of_the_main_sentence_equal_plain_loops(lesson: LessonFile) -> None:
    source = [SOURCE_WORDS.index(word) for word in MAIN_PAIR.source]
    read = [TARGET_WORDS.index(word) for word in (START, *MAIN_PAIR.target)]
    logits, others = PlainModel(lesson.final).run(source, read)
    trace = lines.trace()
    for name, expected in ({"logits": logits} | others).items():
        assert torch.allclose(trace[name], torch.tensor(expected), atol=1e-4), name


def test_final_model_translates_all_sentences_by_plain_loops(lesson: LessonFile) -> None:
    plain = PlainModel(lesson.final)
    wrong = [pair.text for pair in PAIRS if plain.translate(pair) != (*pair.target, END)]
    assert wrong == []
    assert max(lesson.final_right_shares) == 1
    assert len(HELD_OUT_PAIRS) == 8
    assert len(TRAINING_PAIRS) == 76


def test_final_weights_are_432_multiples_of_a_tenth(lesson: LessonFile) -> None:
    numbers = torch.cat([weight.flatten() for weight in lesson.final.values()])
    assert len(numbers) == 432
    assert torch.allclose(numbers, round_to_decimal(numbers), atol=1e-6)
    assert numbers.abs().max() <= 3


def test_whole_models_stored_results_equal_plain_loops(lesson: LessonFile) -> None:
    variant, result = lesson.variants["cross"], lesson.results["cross"]
    plain = PlainModel(variant.weights)
    assert plain.loss(TRAINING_PAIRS) == pytest.approx(result.loss, abs=2e-4)
    assert sum(plain.translate(pair) == (*pair.target, END) for pair in PAIRS) == result.right_count
    assert plain.translate(MAIN_PAIR) == result.main.output


@pytest.mark.parametrize("name", VARIANTS)
def test_stored_results_follow_from_the_weights(name: str, lesson: LessonFile) -> None:
    variant, result = lesson.variants[name], lesson.results[name]
    again = measure(VARIANTS[name], variant)
    assert again.loss == pytest.approx(result.loss, abs=1e-3)
    assert (again.right_count, again.main, again.failing) == (result.right_count, result.main, result.failing)
    assert len(variant.losses) == result.starts == 8
    assert variant.losses[variant.median_start] == sorted(variant.losses)[3]  # the median
    assert variant.losses[variant.median_start] == pytest.approx(result.loss, abs=2e-3)
    assert result.perfect_starts == sum(share == 1 for share in variant.right_shares)
    if result.failing is not None:
        assert not is_right(result.failing)


def test_variants_have_exactly_the_weights_of_their_parts(lesson: LessonFile) -> None:
    for name, parts in VARIANTS.items():
        names = set(lesson.variants[name].weights)
        assert ("encoder.inner" in names) == parts.network, name
        assert ("encoder.query" in names) == parts.attention, name
        assert ("cross.query" in names) == parts.cross, name
        if parts.attention:
            assert lesson.variants[name].weights["encoder.query"].shape[-1] == 2 * parts.heads, name


def test_what_the_page_says_about_the_stages_is_true(lesson: LessonFile) -> None:
    results = lesson.results
    # Without the mask the loss is low and not one sentence is right; the mask makes both worse and better.
    for name in ("positions", "residual", "norm", "network"):
        assert results[name].right_count == 0, name
        assert results[name].loss < results["mask"].loss, name
    assert results["mask"].right_count > 0
    assert results["cross"].perfect_starts > results["mask"].perfect_starts
    assert results["cross"].right_count > results["mask"].right_count
    # A line that fails its test is shown with a sentence that fails.
    assert {name for name in VARIANTS if name.startswith("without_") or VARIANTS[name].mistake} <= {
        name for name, result in results.items() if result.failing is not None
    }


def test_file_is_read_as_it_was_written(lesson: LessonFile, tmp_path: Any) -> None:
    subset = {name: lesson.variants[name] for name in ("average", "cross")}
    path = tmp_path / "build.json"
    path.write_text(file_text(lesson.final, lesson.final_right_shares, subset), encoding="utf-8")
    again = read_file(path)
    assert again.results["cross"] == lesson.results["cross"]
    assert again.variants["average"].losses == lesson.variants["average"].losses


# ---------------------------------------------------------------- training


def test_build_order_adds_one_part_at_a_time() -> None:
    counts = [sum(getattr(parts_through(name), part) for part in BUILD_ORDER) for name in BUILD_ORDER]
    assert counts == list(range(1, len(BUILD_ORDER) + 1))
    assert parts_through("cross") == ALL_PARTS
    assert parts_through("") == Parts()


def test_training_lowers_the_loss_and_is_deterministic() -> None:
    first, curve = train(ALL_PARTS, 2, 5, steps=12, rate=0.02, decay=1e-3)
    second, _ = train(ALL_PARTS, 2, 5, steps=12, rate=0.02, decay=1e-3)
    assert all(late < early - 0.05 for early, late in zip(curve[0], curve[-1], strict=True))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_training_on_the_grid_runs_with_rounded_weights() -> None:
    weights, _ = train(ALL_PARTS, 1, 5, steps=5, rate=0.02, decay=1e-3)
    rounded = {name: round_to_decimal(weight.detach()) for name, weight in weights.items()}
    expected = float(losses(ALL_PARTS, rounded, make_batch(TRAINING_PAIRS)))
    curve = continue_training(ALL_PARTS, weights, steps=1, rate=0.01, decay=1e-3, round_weights=round_to_decimal)
    assert curve[0][0] == pytest.approx(expected, rel=1e-5)


def test_rate_rises_stays_and_falls() -> None:
    assert rate_factor(0, 1000) == pytest.approx(1 / 50)
    assert rate_factor(300, 1000) == 1
    assert rate_factor(800, 1000) == pytest.approx(0.05 + 0.95 * 0.5)


def test_padding_changes_nothing(lesson: LessonFile) -> None:
    short = next(pair for pair in PAIRS if len(pair.source) == 3)
    alone = forward(ALL_PARTS, lesson.final, make_batch([short]))["logits"][0, 0]
    padded = forward(ALL_PARTS, lesson.final, make_batch([short, MAIN_PAIR]))["logits"][0, 0, : len(alone)]
    assert torch.allclose(alone, padded, atol=1e-5)
    assert translate(ALL_PARTS, lesson.final, [short, MAIN_PAIR])[0] == (*short.target, END)


def test_alignment_is_the_mean_weight_on_translated_words(lesson: LessonFile) -> None:
    meanings = {"我": "I", "喜欢": "like", "书": "book", "读": "read", "你": "you", "他们": "they", "诗": "poem"}
    plain, values = PlainModel(lesson.final), []
    for pair in PAIRS:
        read = [TARGET_WORDS.index(word) for word in (START, *pair.target)]
        shares = plain.run([SOURCE_WORDS.index(word) for word in pair.source], read)[1]["cross.shares"]
        for row, word in enumerate(pair.target):
            keys = [key for key, source in enumerate(pair.source) if meanings.get(source) == word]
            if keys:
                values.append(max(sum(shares[head][row][key] for key in keys) for head in range(2)))
    assert alignment(lesson.final) == pytest.approx(sum(values) / len(values), abs=1e-4)


def test_rows_to_draw_come_from_unseen_sentences_and_look_at_the_translated_word() -> None:
    rows = rows_to_draw()
    assert len(rows) >= 5
    for row in rows:
        assert "".join(row.source) in {pair.text for pair in HELD_OUT_PAIRS}
        assert sum(row.weights) == pytest.approx(1, abs=1e-5)
        assert max(row.weights) >= 0.6


# ---------------------------------------------------------------- lines


@pytest.mark.parametrize("part", GAPS)
def test_exactly_one_candidate_passes(part: str) -> None:
    verdicts = [run_line(part, candidate.text) for candidate in GAPS[part].candidates]
    assert sum(verdict.passes for verdict in verdicts) == 1
    assert len(verdicts) == 3
    for verdict in verdicts:
        assert verdict.passes == (not verdict.error and verdict.failure is None)


def test_no_part_has_its_right_line_at_the_same_place_as_all_others() -> None:
    places = {
        next(index for index, each in enumerate(gap.candidates) if run_line(part, each.text).passes)
        for part, gap in GAPS.items()
    }
    assert places == {0, 1, 2}


@pytest.mark.parametrize("sides", list(product("ym", repeat=3)))
def test_only_english_asking_chinese_passes(sides: tuple[str, ...]) -> None:
    verdict = run_sides(dict(zip("qkv", sides, strict=True)))
    assert verdict.passes == (sides == ("y", "m", "m"))
    if sides == ("y", "y", "y"):  # runs, but ignores the Chinese sentence
        assert verdict.failure == checks.Failure("unaffected")
    elif not verdict.passes:
        assert verdict.error.startswith("RuntimeError: ")


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("scores", "q @ k.T"),
        ("scores", "torch.matmul(q, k.T)"),
        ("scale", "s / 2 * math.sqrt(2)"),
        ("softmax", "torch.softmax(s, dim=-1)"),
        ("softmax", "s.exp() / s.exp().sum(-1, keepdim=True)"),
        ("residual", "a + x"),
        ("network", "torch.relu(x @ W_1)"),
        ("next", "p[-1].argmax(-1)"),
    ],
)
def test_own_lines_that_are_right_pass(part: str, text: str) -> None:
    assert run_line(part, text).passes


@pytest.mark.parametrize(
    ("part", "text", "word"),
    [
        ("scores", "k @ q.T", "number"),
        ("scores", "3", "not_tensor"),
        ("qkv", "x @ W_q, x @ W_k", "three"),
        ("softmax", "s.softmax(-1) * 2", "row_sum"),
        ("mask", "s.softmax(-1)", "later"),
        ("norm", "v.sqrt() * 2", "spread"),
        ("network", "(x @ W_1) * 2", "below_zero"),
        ("next", "p[-1].argmax() + 20", "no_word"),
        ("scale", "s", "variance"),
    ],
)
def test_own_lines_that_are_wrong_fail_with_a_reason(part: str, text: str, word: str) -> None:
    failure = run_line(part, text).failure
    assert failure is not None
    assert failure.word == word


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("q @", "syntax"),
        ("", "syntax"),
        ("__import__('os').system('true')", "name"),
        ("q.__class__", "name"),
        ("q.numpy()", "name"),
        ("torch.load(q)", "name"),
        ("(lambda: q)()", "name"),
        ("[q for _ in q]", "name"),
        ("'text'", "name"),
        ("q ** 9", "name"),
        ("unknown", "name"),
        ("q.sum(out=q)", "name"),
        ("9999999999", "name"),
        ("q[None]", "name"),
        ("torch.cat([" + ",".join(["s"] * 40) + "])", "ok"),
        ("q" * (MAX_CHARACTERS + 1), "length"),
        ("(" * 60 + "q" + ")" * 59, "syntax"),
    ],
)
def test_lines_outside_the_grammar_are_rejected(text: str, reason: str) -> None:
    names = {"q": torch.ones(6, 2), "s": torch.ones(6, 6)}
    if reason == "ok":
        assert run_expression(text, names).shape == (240, 6)
        return
    with pytest.raises(LineError) as error_info:
        run_expression(text, names)
    assert error_info.value.reason == reason


def test_results_are_limited_in_size() -> None:
    wide, tall = torch.ones(1, 60, 1), torch.ones(70, 1, 1)
    with pytest.raises(LineError) as error_info:
        run_expression("a + b", {"a": wide, "b": tall})
    assert error_info.value.reason == "size"


def test_expressions_equal_python() -> None:
    x, y = torch.arange(6.0).view(2, 3), torch.arange(12.0).view(3, 4)
    names = {"x": x, "y": y}
    assert torch.equal(run_expression("x @ y - 2", names), x @ y - 2)
    assert torch.equal(run_expression("-x.T[1:, 0]", names), -x.mT[1:, 0])
    variance = run_expression("x.var(-1, keepdim=True, unbiased=False)", names)
    assert torch.allclose(variance, torch.full((2, 1), 2 / 3))
    assert run_expression("math.sqrt(16) / 2", names) == 2


@pytest.mark.slow
def test_saved_script_runs_alone_and_translates_all_sentences(tmp_path: Path) -> None:
    path = tmp_path / "headlight_build.py"
    path.write_text(script_text(), encoding="utf-8")
    options: dict[str, Any] = {"capture_output": True, "encoding": "utf-8", "cwd": tmp_path}
    environment = {"PYTHONIOENCODING": "utf-8", "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-I", path, "我喜欢你读的书", "他们读诗"],
        check=True,
        env=environment,
        **options,
    )
    assert done.stdout.splitlines() == [
        "我喜欢你读的书 -> I like the book you read",
        "他们读诗 -> they read the poem",
        "84 of 84 sentences right",
    ]
    failed = subprocess.run([sys.executable, "-W", "ignore", "-I", path, "狗"], check=False, env=environment, **options)
    assert failed.returncode == 1
    assert "狗 begins with no known word" in failed.stderr


def test_printed_numbers_are_near_those_of_the_model() -> None:
    trace, printed = numbers.main_trace(), printed_numbers()
    names = trace.keys() & printed.keys()
    assert {"encoder.shares", "encoder.normed", "encoder.hidden", "cross.shares", "logits"} <= names
    for name in names:
        assert abs(printed[name] - trace[name]).max() < 0.025, name
    assert numbers.right_count() == len(PAIRS) == 84


def test_halves_are_rounded_up_as_by_hand() -> None:
    assert rounded(np.array([0.505, -0.505, 1.005, 0.0049, -0.004])).tolist() == [0.51, -0.51, 1.01, 0, 0]


def test_positions_are_those_of_the_paper_with_base_100() -> None:
    for position, row in enumerate(POSITIONS.tolist()):
        expected = [round(f(position / base), 1) for base in (1, 10) for f in (math.sin, math.cos)]
        assert row == pytest.approx(expected, abs=1e-6)
