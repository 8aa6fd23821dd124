"""`make bench`: its arithmetic, its report, and every available engine on the smallest shapes.

No test checks times, because machines that run tests are busy.
"""

from __future__ import annotations

import ast
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headlight.model.core.probes import Probe
from headlight.model.training.batches import plan_epoch
from workshop.benchmarks import __main__ as command
from workshop.benchmarks import decode, gpu, importance, lines, memory, probes, report, training, without_probes
from workshop.benchmarks.arithmetic import (
    compute_paired_ratio,
    compute_token_agreement,
    format_megabytes,
    format_milliseconds,
    summarise_quartiles,
)
from workshop.benchmarks.countdown_model import CountdownModel
from workshop.benchmarks.engines import CPU_ENGINES, EngineSpec, Workload
from workshop.benchmarks.environment import describe_environment
from workshop.benchmarks.random_models import (
    make_random_model,
    random_sentences,
    save_for_all_engines,
    train_random_tokenizer,
)
from workshop.benchmarks.shapes import CASES, GOALS, TINY, Case, Goal, Shape
from workshop.benchmarks.worker import DecodingEngine, Worker, WorkerError, time_job

AVAILABLE_ENGINES = [name for name, entry in CPU_ENGINES.items() if not entry.unavailable_reason]
WORDS = Shape(
    "words", d_model=64, layers=1, heads=2, d_ff=32, vocabulary=1_000
)  # one token per word needs a vocabulary


# ---------------------------------------------------------------- arithmetic

LOAD_RESULT = {
    "answers": 240,
    "rate": 12.0,
    "p50": 0.61,
    "p95": 0.83,
    "longest": 2.4,
    "wrong": 0,
    "lost": 0,
    "again": 1,
}


def test_summary_gives_median_and_quartiles() -> None:
    assert summarise_quartiles([5.0, 1.0, 2.0, 4.0, 3.0]) == {"median": 3.0, "low": 2.0, "high": 4.0}
    assert summarise_quartiles([7.0]) == {"median": 7.0, "low": 7.0, "high": 7.0}


def test_paired_ratio_is_median_of_ratios() -> None:
    result = compute_paired_ratio([2.0, 30.0, 8.0], [1.0, 10.0, 16.0])
    assert result["median"] == 2.0
    assert result["pairs"] == 3


def test_bounds_of_paired_ratio_narrow_with_more_pairs() -> None:
    ratios = [1 + index / 1000 for index in range(101)]
    result = compute_paired_ratio(ratios, [1.0] * 101)
    assert result["median"] == 1.05
    assert (result["low"], result["high"]) == (ratios[40], ratios[60])  # 50 ± 0.98 √101, outward
    few = compute_paired_ratio(ratios[::20], [1.0] * 6)
    assert few["high"] - few["low"] > result["high"] - result["low"]


def test_token_agreement_counts_missing_tokens_as_different() -> None:
    assert compute_token_agreement([[1, 2, 3, 4]], [[1, 2, 9, 4]]) == 3 / 4
    assert compute_token_agreement([[1, 2]], [[1, 2, 3, 4]]) == 2 / 4
    assert compute_token_agreement([[]], [[]]) == 1.0


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.00831, "8.31"), (0.0412, "41.2"), (0.192, "192"), (1.0984, "1,098"), (0.09999, "100.0")]
)
def test_milliseconds_show_three_digits(seconds: float, text: str) -> None:
    assert format_milliseconds(seconds) == text


def test_megabytes_are_millions_of_bytes() -> None:
    assert format_megabytes(1_234_567_890) == "1,234.6 MB"


def test_goals_are_met_at_their_bound() -> None:
    assert Goal(at_least=4.0).is_met(ours=1.0, peers=4.0)
    assert not Goal(at_least=4.0).is_met(ours=1.0, peers=3.9)
    assert Goal(at_most=0.5).is_met(ours=1.0, peers=2.0)
    assert not Goal(at_most=0.5).is_met(ours=1.1, peers=2.0)
    with pytest.raises(ValueError, match="either"):
        Goal(at_least=4.0, at_most=0.5)


def test_every_goal_has_a_case_and_a_row() -> None:
    assert {name for name, _ in GOALS} <= {case.name for case in CASES}
    assert {row for _, row in GOALS} <= set(report.ROWS)


def test_stopwatch_excludes_warmup_run() -> None:
    runs: list[int] = []
    assert time_job(lambda: runs.append(1), at_least=1e-9) >= 0
    assert len(runs) == 2


# ---------------------------------------------------------------- models and sentences


def test_random_sentences_have_requested_number_of_tokens() -> None:
    tokenizer = train_random_tokenizer(TINY.vocabulary)
    texts = random_sentences(tokenizer, 5, 13)
    assert [len(tokenizer.encode(text)) + 1 for text in texts] == [13] * 5
    assert texts == random_sentences(tokenizer, 5, 13)


def test_random_model_never_ends_and_varies_its_output() -> None:
    model = make_random_model(TINY.config)
    ids = torch.randint(3, TINY.vocabulary, (7, 11))
    predicted = model(ids, ids).argmax(dim=-1)
    assert not set(predicted.flatten().tolist()) & {model.config.pad_id, model.config.start_id, model.config.end_id}
    assert len(predicted.unique()) > 7


def test_countdown_model_output_has_as_many_words_as_input() -> None:
    counting = CountdownModel(WORDS, train_random_tokenizer(WORDS.vocabulary))
    texts = counting.sample_lines(40)
    lengths = [len(text.split()) for text in texts]
    assert len(set(lengths)) > 7
    end = counting.model.config.end_id
    for text, length in zip(texts, lengths, strict=True):
        source = torch.tensor([[*counting.tokenizer.encode(text), end]])
        assert source.shape[1] == length + 1  # one token per word
        answer = counting.make_countdown(length)
        target = torch.tensor([[counting.model.config.start_id, *answer[:-1]]])
        assert counting.model(source, target).argmax(dim=-1)[0].tolist() == answer


# ---------------------------------------------------------------- engines and workers


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bench") / "model"
    save_for_all_engines(path, make_random_model(TINY.config), train_random_tokenizer(TINY.vocabulary))
    return path


def _workload(tokens: int = 7) -> Workload:
    tokenizer = train_random_tokenizer(TINY.vocabulary)
    texts = random_sentences(tokenizer, 3, tokens)
    return Workload([[*tokenizer.encode(text), tokenizer.end_id] for text in texts], texts, tokens)


@pytest.mark.slow
@pytest.mark.parametrize("name", AVAILABLE_ENGINES)
def test_every_engine_writes_the_same_ids(name: str, folder: Path) -> None:
    entry = CPU_ENGINES[name]
    if entry.package:  # third-party engines run in another process, because other tests check imported modules
        with Worker(DecodingEngine, entry, folder, 1) as worker:
            outputs = worker.call("prepare", "case", _workload())
    else:
        outputs = DecodingEngine(entry, folder, 1).prepare("case", _workload())
    ours = DecodingEngine(CPU_ENGINES["headlight-float32"], folder, 1).prepare("case", _workload())["headlight-float32"]
    for row, ids in outputs.items():
        assert [len(sentence) for sentence in ids] == [7, 7, 7]
        assert row in report.ROWS
        if not row.startswith(("tutorial", "ctranslate2-int8")):
            assert ids == ours


def test_tutorial_engines_give_equal_output(folder: Path) -> None:
    outputs = DecodingEngine(CPU_ENGINES["tutorial"], folder, 1).prepare("case", _workload())
    assert outputs["tutorial"] == outputs["tutorial-whole"]


@pytest.mark.slow
def test_missing_engines_are_skipped_with_a_message() -> None:
    engines = {
        "headlight": CPU_ENGINES["headlight"],
        "gone": EngineSpec("workshop.benchmarks.engines.gone", package="no_such_package"),
    }
    messages: list[str] = []
    result = decode.measure([Case(TINY, 2, 5)], engines, 2, 1, messages.append)
    assert result["absent"] == {"gone": "no_such_package is not installed (pip install -r requirements-bench.txt)"}
    assert any("gone" in line for line in messages)
    (case,) = result["cases"]
    assert case["name"] == "tiny, 2 × 5"
    assert set(case["seconds"]) == {"headlight", "translator"}
    assert "skipped" in report.render_cpu_decoding(result).lower()


def test_worker_error_has_its_cause_and_worker_continues() -> None:
    with Worker(Fraction, 7, 11) as worker:  # any class with methods works
        with pytest.raises(WorkerError, match="max_denominator should be at least 1"):
            worker.call("limit_denominator", 0)
        assert worker.call("limit_denominator", 3) == Fraction(2, 3)


def test_worker_start_error_has_its_cause() -> None:
    with pytest.raises(WorkerError, match="ZeroDivisionError"):
        Worker(Fraction, 7, 0)


def test_disagreeing_engines_are_named() -> None:
    result = {"cases": [{"name": "c", "same_tokens": {"transformers": 0.5, "ctranslate2-int8": 0.5, "headlight": 1.0}}]}
    (message,) = decode.find_disagreements(result)
    assert "transformers" in message


# ---------------------------------------------------------------- the copy without probes


@pytest.mark.parametrize(
    ("source", "expected_source"),
    [
        ("y = self.weights(f(x))", "y = f(x)"),
        ("return self.mixed(self.mix(x))", "return self.mix(x)"),
        ("a, b = self.weights(a), self.mixed(b)", ""),
        ("if p or self.weights.watched or self.mixed.watched:\n    f()", "if p:\n    f()"),
        ("if self.weights.watched:\n    f()", "if False:\n    f()"),
        ("y = self.other(x)", "y = self.other(x)"),
    ],
)
def test_probe_remover_rewrites_source(source: str, expected_source: str) -> None:
    def class_source(body: str) -> str:
        lines = "".join(f"        {line}\n" for line in (body or "pass").splitlines())
        return f"class A:\n    def f(self):\n{lines}        return 0\n"

    probed = (
        class_source(source)
        + "    def __init__(self):\n        self.weights = Probe('a')\n        self.mixed = Probe('b')\n"
    )
    tree = without_probes._ProbeRemover().visit(ast.parse(probed))
    method = ast.unparse(tree.body[0].body[0])
    expected = ast.parse(class_source(expected_source)).body[0]
    assert isinstance(expected, ast.ClassDef)
    assert method == ast.unparse(expected.body[0]).replace("    pass\n", "")


def test_model_without_probes_gives_equal_output() -> None:
    pairs = probes.Pairs(TINY, 1)  # compares both at its start
    assert list(pairs.twin.state_dict()) == list(pairs.model.state_dict())
    assert any(isinstance(module, Probe) for module in pairs.model.modules())
    assert not any(isinstance(module, Probe) for module in pairs.twin.modules())
    for result in (pairs.step(2), pairs.whole_pass(2), pairs.control(2), pairs.prepared(2)):
        assert result["ratio"]["pairs"] == 2


# ---------------------------------------------------------------- sections and the report


def test_lines_are_translated_equally_by_both_engines(tmp_path: Path) -> None:
    benchmark_lines = lines.load_lines(tmp_path / "model", 30, WORDS)
    ids = benchmark_lines.tokenizer.encode_batch(benchmark_lines.texts)
    run = lines.HeadlightLines(benchmark_lines.folder, benchmark_lines.texts, 1).run()
    assert run.seconds > 0
    if "random" in benchmark_lines.model_description:
        assert [len(output) for output in run.ids] == [len(line) for line in ids]
    if not CPU_ENGINES["ctranslate2"].unavailable_reason:
        theirs = lines.CTranslateLines(benchmark_lines.folder, lines._add_end_token(ids, benchmark_lines), 100, 1)
        assert compute_token_agreement(theirs.run("examples", 8).ids, run.ids) == 1.0


def test_loading_reports_peak_and_weights(tmp_path: Path) -> None:
    save_for_all_engines(tmp_path / "model", make_random_model(TINY.config), train_random_tokenizer(TINY.vocabulary))
    if memory.RESET.exists():
        result = memory.LoadBenchmark().load(tmp_path / "model")
        assert result["peak"] >= result["after"] > result["weights"] > result["copied"] >= 0


def _result() -> dict[str, Any]:
    """A result of all sections, with round numbers."""

    def seconds(**medians: float) -> dict[str, dict[str, float]]:
        return {row.replace("_", "-"): {"median": m, "low": m, "high": m} for row, m in medians.items()}

    machine = {
        "date": "2031-02-03",
        "command": "python -m workshop.benchmarks all",
        "processor": "Abacus",
        "cores": 2,
        "memory": "5 GiB",
        "system": "Linux",
        "versions": {"torch": "7"},
        "load": 0.1,
    }
    pair = {"ratio": {"median": 1.015, "low": 1.01, "high": 1.02, "pairs": 9}, "seconds": {"ours": 0.2, "others": 0.1}}
    case = {
        "name": "small, 1 × 20",
        "shape": "d 256",
        "seconds": seconds(transformers=0.05, ctranslate2=0.005, headlight=0.01, translator=0.012),
        "same_tokens": {"transformers": 1.0, "headlight": 0.95},
    }
    return {
        "decode": {
            "repetitions": 7,
            "threads": 2,
            "absent": {"tutorial": "it is gone"},
            "cases": [case],
            "about": machine,
        },
        "probes": {
            "shape": "d 256",
            "tokens": 20,
            "threads": 1,
            "step": pair,
            "pass": pair,
            "control": pair,
            "prepared": pair,
            "about": machine,
        },
        "lines": {
            "lines": 100,
            "repetitions": 7,
            "threads": 2,
            "about_model": "a model",
            "source_tokens": 900,
            "written_tokens": 1000,
            "absence": "",
            "same_tokens": 1.0,
            "own_tokens": 0.9985,
            "tried": {"16 examples": 2.5},
            "best": "16 examples",
            "seconds": seconds(headlight=2.0, ctranslate2=2.5, ctranslate2_int8=1.5),
            "about": machine,
        },
        "importance": {
            "model": "de-en",
            "source_tokens": 20,
            "target_tokens": 19,
            "parts": 129,
            "heads": 112,
            "at_once": 40,
            "repetitions": 7,
            "threads": 2,
            "all": {"median": 1.3, "low": 1.2, "high": 1.4},
            "batch": {"median": 0.25, "low": 0.2, "high": 0.3},
            "about": machine,
        },
        "effects": {
            "sentences": 24,
            "threads": 1,
            "cost": {
                "model": "de-en",
                "source_tokens": 21,
                "target_tokens": 20,
                "repetitions": 7,
                "seconds": seconds(forward=0.02, **{"pass": 0.04}, effects=0.1, account=0.05),
                "ratio": {
                    "effects": {"median": 2.5, "low": 2.4, "high": 2.6, "pairs": 7},
                    "account": {"median": 1.25, "low": 1.2, "high": 1.3, "pairs": 7},
                },
            },
            "models": {
                "de-en": {
                    "directions": {
                        side: {kind: {"cells": 50, "right": right} for kind in ("encoder", "decoder", "cross")}
                        for side, right in (("key", 45), ("query", 44))
                    },
                    "explained": [
                        {"cells": 40, "mean": 1.02, "reason": 0.95},
                        {"cells": 30, "mean": 0.41, "reason": 0.3},
                        {"cells": 0, "mean": 0.0, "reason": 0.0},
                    ],
                }
            },
            "about": machine,
        },
        "memory": {
            "models": [
                {
                    "name": "small",
                    "shape": "d 256",
                    "weights": 40e6,
                    "copied": 10e6,
                    "fresh": 60e6,
                    "before": 1e6,
                    "peak": 37e6,
                }
            ],
            "about": machine,
        },
        "training": {
            "repetitions": 5,
            "threads": 2,
            "shape": "d 256",
            "speeds": {
                name: {"median": speed, "low": speed, "high": speed}
                for name, speed in {"plain": 500, "buckets": 2000, "headlight": 4000, "headlight-two": 3000}.items()
            },
            "about": machine,
        },
        "gpu": {"absence": "There was no GPU on this machine.", "about": machine},
        "page": {
            **{name: {"median": 0.03, "low": 0.02, "high": 0.04} for name in ("translate", "switch_30", "switch_200")},
            "cold_start": {"median": 7.0, "low": 6.0, "high": 8.0},
            "switch_30_tokens": 31,
            "switch_200_tokens": 97,
            "payload": {"answers": [{"weights": 10_000, "bytes": 33_000}]},
            "growth": {"heap": 4e6, "server": 60e6, "translations": 200, "switches": 1000},
            "visitors": {"count": 30, "answers": 150, "expected": 150, "wrong": [], "p50": 1.0, "p95": 2.0},
            "plain": {"switch": {"median": 0.6, "low": 0.5, "high": 0.7}},
            "about": machine,
        },
        "paint": {
            "repetitions": 7,
            "sentences": [
                {"name": name, "source_tokens": int(name), "target_tokens": 7, "bytes": 1000}
                | {"stages": {"server": 0.003, "way": 0.017, "read": 0.002, "draw": 0.041}}
                | {
                    each: {"median": second}
                    for each, second in {"model": 0.05, "there": 0.1, "painted": 0.15, "beyond": 0.1}.items()
                }
                for name in ("8", "20", "60")
            ],
            "about": machine,
        },
        "visit": {
            "line": {"latency": 80, "speed": 10},
            "ours": {"median": 1.5, "low": 1.4, "high": 1.6},
            "empty": {"median": 1.2, "low": 1.1, "high": 1.3},
            "ratio": {"median": 1.25, "low": 1.2, "high": 1.3, "pairs": 11},
            "requests": 38,
            "bytes": 1.8e6,
            "about": machine,
        },
        "static": {
            "rows": {
                "de-en": {
                    "greedy": {
                        "equal": {"exact": 200, "server": 199},
                        "sentences": 200,
                        "difference": 5e-5,
                        "seconds": 0.9,
                        "server_seconds": 0.6,
                        "ratio": 1.5,
                    }
                }
            },
            "methods": ["GET"],
            "about": machine,
        },
        "static_visits": {
            "bytes": {"de-en": 11_500_000},
            "shared_bytes": 7_100_000,
            "class": {
                "visitors": 300,
                "files": 21,
                "bytes": 20e6,
                "requests": {"GET 200": 6299, "GET 404": 1},
                "seconds": 31.0,
                "p95": 29.5,
                "cpu_seconds": 15.0,
            },
            "visit": {
                "line": {"latency": 80, "speed": 10},
                "ours": {"median": 1.1, "low": 1.0, "high": 1.2},
                "empty": {"median": 1.0, "low": 0.9, "high": 1.1},
                "ratio": {"median": 1.1, "low": 1.05, "high": 1.15, "pairs": 11},
                "requests": 9,
                "bytes": 1.5e6,
            },
            "about": machine,
        },
        "live": {
            "typists": 30,
            "keys": 4,
            "seconds": 33.0,
            "answers": 400,
            "busy": 7,
            "lost": 0,
            "answered": {"p50": 0.4, "p95": 1.2, "count": 900},
            "painted": {"p50": 0.5, "p95": 1.3, "count": 100},
            **{
                name: {"median": seconds, "low": 0.2, "high": 0.9}
                for name, seconds in (("alone", 0.3), ("among", 0.48))
            },
            "ratio": 1.6,
            "load": 1.7,
            "memory": 500e6,
            "about": machine,
        },
        "class": {
            "alone": {"median": 0.2, "low": 0.1, "high": 0.3},
            "lessons": [
                {
                    "pupils": 30,
                    "sentences": 1,
                    "answered": 30 - again,
                    "refused": 3,
                    "again": again,
                    "seconds": 9.0,
                    "waits": {"p50": 1.0, "p95": 3.0, "count": 30},
                    "third": {"p50": 0.3, "p95": 0.4, "count": 17},
                    "third_again": 0,
                    "hostile": {"requests": requests, "answered": requests // 4, "refused": requests // 2},
                }
                for requests, again in ((0, 0), (500, 2))
            ],
            "about": machine,
        },
        "watched": {
            **{name: {"median": each, "low": each, "high": each} for name, each in (("alone", 0.2), ("beside", 0.27))},
            "ratio": {"median": 1.35, "low": 1.3, "high": 1.4, "pairs": 11},
            "whole": {"median": 4.2, "low": 4.0, "high": 4.5},
            "about": machine,
        },
        "scale": {
            "seconds": 20.0,
            "callers": 8,
            "sleep": 0.5,
            "here": LOAD_RESULT,
            "about": machine,
            "replicas": {"1": LOAD_RESULT, "2": {**LOAD_RESULT, "rate": 18.0}},
            "killed_replica": {**LOAD_RESULT, "replaced": 6.5},
            "killed_page": {**LOAD_RESULT, "replaced": 9.5, "memory": 400e6, "memory_here": 500e6},
            "workers": {"1": {**LOAD_RESULT, "rate": 1.9}, "64": {**LOAD_RESULT, "rate": 96.0}},
        },
    }


def test_report_states_which_goals_are_met() -> None:
    text = report.render(_result())
    assert "| small, 1 × 20 | transformers: at least 2.3 × as fast | 5.0 × | met |" in text
    assert "| small, 1 × 20 | ctranslate2: at most 0.95 of its time | 2.00 | **not met** |" in text
    assert "| small, 1 × 20 | `Translator` ÷ model: at most 1.15 | 1.20 | **not met** |" in text
    assert "| 1.015 | 1.010-1.020 | 1.02 | met |" in text  # the step
    assert "| 1.015 | 1.010-1.020 | 1.01 | **not met** |" in text  # the pass
    assert "1.25 times as fast, met" in text  # lines
    assert "99.9% of the tokens equal those of float32 steps: 99.85%, **not met**" in text
    assert "| CTranslate2 int8, ids to ids | 1.50 |" in text
    assert "| 20 read | 3.00 | 17.0 | 2.00 | 41.0 | 1 kB |" in text  # painting, by stages
    assert "| small | 30.0 MB | 10.0 MB | 60.0 MB | 36.0 MB | 1.20 | met |" in text
    assert "unsorted sentences, padded | 8.0 × | met |" in text  # training
    assert "| at least 2.5 × the same, batched by length | 2.0 × | **not met** |" in text
    assert "Skipped tutorial: it is gone." in text
    assert "There was no GPU on this machine." in text
    assert "31 tokens, until painted | 30 ms | at most 16 ms | **not met** |" in text
    assert "| bytes per weight, after the first 20 kB | 1.30 | at most 1.4 | met |" in text
    assert "| +60.0 MB | below +50.0 MB | **not met** |" in text
    assert "| 20 × | at least 10 × | met |" in text
    assert "0 wrong or missing" in text
    assert "| 1.25 (1.20-1.30) | at most 1.2 | **not met** |" in text
    assert "| 38 | at most 42 | met |" in text
    assert "| 8 read, 7 written | 50.0 | 100 | 150 | 100 |  |  |" in text  # painted
    assert "| 20 read, 7 written | 50.0 | 100 | 150 | 100 | at most 60.0 | **not met** |" in text
    assert "| 60 read, 7 written | 50.0 | 100 | 150 | 100 | at most 120 | met |" in text
    assert "| ratio, typing ÷ idle | 1.60 | at most 1.5 | **not met** |" in text
    assert "400 live answers, 7 yielded to other requests, 0 lost." in text
    assert "| 30 pupils × 1 |  | 30 of 30 | 3 | 0, met | 9.0 | 5.0 | 15.0 | 1.5 | 2.0 |" in text
    assert "| 30 pupils × 1 | 500 | 28 of 30 | 3 | 2, **not met** |" in text
    assert "answered and refused during the lesson: 125 and 250." in text
    assert "| ratio, 11 pairs | 1.35 (1.30-1.40) | at most 1.3 | **not met** |" in text
    assert "| a full default run, including process start | 4.2 s | at most 15 s | met |" in text


def test_importance_measures_every_head_and_is_reported() -> None:
    result = importance.measure(1, torch.get_num_threads(), lambda message: None)
    assert (result["heads"], result["source_tokens"]) == (112, 21)  # including the end token
    assert result["parts"] == 112 + 8 + 2 * 3 + 3
    assert 0 < result["batch"]["median"] <= result["all"]["median"]
    text = report.render_importance(_result()["importance"])
    assert "| all 129 heads, layers and kinds | 1.30 s (1.20-1.40) | at most 1.2 s | **not met** |" in text


def test_effects_report_states_which_goals_are_met() -> None:
    text = report.render_effects(_result()["effects"])
    assert "| `word_effects`: all heads and cells | 100 | 2.50 (2.40-2.60) | at most 2 | **not met** |" in text
    assert "| `word_account`: all words | 50.0 | 1.25 (1.20-1.30) |  |  |" in text
    assert "| de-en | key | 150 | 90.0% | 90.0% | 90.0% | 90.0% | met |" in text
    assert "| de-en | query | 150 | 88.0% | 88.0% | 88.0% | 88.0% | **not met** |" in text
    assert "| de-en | 2 | 30 | 41% | 30% |" in text
    assert "| de-en | 3 |" not in text  # no cells


def test_report_has_every_section() -> None:
    assert set(report.SECTIONS) == set(command.SECTIONS) == set(_result())


def test_report_is_unchanged_by_json_roundtrip() -> None:
    assert report.render(_result()) == report.render(json.loads(json.dumps(_result())))


def test_machine_is_named_once_or_per_section_if_different() -> None:
    results = _result()
    assert report.render(results).count("2031-02-03") == 1
    results["gpu"] = results["gpu"] | {"about": results["gpu"]["about"] | {"date": "2031-02-04", "load": 3.5}}
    assert report.render(results).count("2031-02-03") == 16
    assert report.render(results).count("Other work kept 3.5 cores busy") == 1


@pytest.mark.slow
def test_training_loops_use_the_same_sentences() -> None:
    sentences = training.random_pairs(150)
    ours = plan_epoch(sentences, training.recipe().batching, seed=0, epoch=0)
    for batches in (training.make_fixed_batches(sentences), ours):
        assert sorted(np.concatenate(batches).tolist()) == list(range(150))
    words = sum(len(row) + 1 for row in sentences.target)
    steps = training.run_plain_loop(sentences, ours)
    assert sum(next(steps)[0] for _ in ours) == words
    assert 5 < words / 150 < 20


def test_tutorial_loop_lowers_loss() -> None:
    sentences = training.random_pairs(3)
    steps = training.run_plain_loop(sentences, training.make_fixed_batches(sentences))
    losses = [float(next(steps)[1]) for _ in range(12)]
    assert losses[-1] < losses[0]


def test_tables_are_markdown() -> None:
    assert report.render_table(["a", "b"], [["c", "1"]]) == "| a | b |\n| --- | ---: |\n| c | 1 |\n"


def test_about_names_machine_and_versions() -> None:
    result = describe_environment("2031-02-03", "a command")
    assert result["date"] == "2031-02-03"
    assert result["cores"] >= 1
    assert result["versions"]["torch"].startswith(torch.__version__.split("+")[0])
    json.dumps(result)


def test_missing_gpu_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert report.render_gpu_decoding(gpu.measure([], 1, 1, print)).endswith("There was no GPU on this machine.\n")


def test_command_keeps_earlier_sections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "_measure", lambda name, options: _result()[name])
    assert command.main(["memory", "--output", str(tmp_path), "--date", "2031-02-03"]) == 0
    assert command.main(["gpu", "--output", str(tmp_path), "--date", "2031-02-04"]) == 0
    text = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert "## Memory while loading" in text
    assert "2031-02-03" in text
    assert "2031-02-04" in text
    assert "Memory" in capsys.readouterr().out


def test_quick_run_writes_nothing_without_output_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "_measure", lambda name, options: _result()[name])
    command.main(["gpu", "--quick"])
    assert not list(tmp_path.iterdir())


def test_command_fails_if_engines_disagree(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _result()["decode"]
    result["cases"][0]["same_tokens"]["transformers"] = 0.9
    monkeypatch.setattr(command, "_measure", lambda name, options: result)
    assert command.main(["decode", "--quick"]) == 1
