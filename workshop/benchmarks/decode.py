"""Decoding with all attention maps, compared with other engines."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import Any

from headlight.model.text.tokenizer import Tokenizer
from workshop.benchmarks.arithmetic import compute_token_agreement, summarise_quartiles
from workshop.benchmarks.engines import EngineSpec, Workload
from workshop.benchmarks.random_models import (
    make_random_model,
    random_sentences,
    save_for_all_engines,
    train_random_tokenizer,
)
from workshop.benchmarks.shapes import Case
from workshop.benchmarks.worker import DecodingEngine, Worker

REFERENCE = "headlight-float32"
EXACT_ENGINES = ("transformers", "ctranslate2")  # in float32, their tokens must equal Headlight's


def measure(
    cases: Sequence[Case], engines: Mapping[str, EngineSpec], repetitions: int, threads: int, log: Callable[[str], None]
) -> dict[str, Any]:
    """Measure the times and the share of equal tokens of every case in every available engine."""
    available = {name: spec for name, spec in engines.items() if not spec.unavailable_reason}
    absent = {name: spec.unavailable_reason for name, spec in engines.items() if spec.unavailable_reason}
    for name, reason in absent.items():
        log(f"skipped {name}: {reason}")
    results: list[dict[str, Any]] = []
    for shape, shape_cases in groupby(cases, key=lambda case: case.shape):
        with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:
            folder, tokenizer = Path(temporary) / shape.name, train_random_tokenizer(shape.vocabulary)
            save_for_all_engines(folder, make_random_model(shape.config), tokenizer)
            workers = {
                name: stack.enter_context(Worker(DecodingEngine, spec, folder, threads))
                for name, spec in available.items()
            }
            results += _measure_interleaved(list(shape_cases), workers, tokenizer, repetitions, log)
    return {"repetitions": repetitions, "threads": threads, "absent": absent, "cases": results}


def _measure_interleaved(
    cases: Sequence[Case],
    workers: Mapping[str, Worker],
    tokenizer: Tokenizer,
    repetitions: int,
    log: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Measure cases of one shape with interleaved engines (A B C A B C …), one at a time."""
    outputs = {case: _prepare(case, workers, tokenizer) for case in cases}
    seconds: dict[tuple[Case, str], list[float]] = {}
    for repetition in range(repetitions):
        for case in cases:
            for row, (worker, _) in outputs[case].items():
                seconds.setdefault((case, row), []).append(worker.call("time", case.name, row))
            log(f"{case.name}: {repetition + 1} of {repetitions}")
    return [
        {
            "name": case.name,
            "shape": case.shape.words,
            "seconds": {row: summarise_quartiles(seconds[case, row]) for row in outputs[case]},
            "same_tokens": _agreement({row: ids for row, (_, ids) in outputs[case].items()}),
        }
        for case in cases
    ]


def _prepare(
    case: Case, workers: Mapping[str, Worker], tokenizer: Tokenizer
) -> dict[str, tuple[Worker, list[list[int]]]]:
    """Run every engine once on the same sentences. Return the worker and the output of each job, by row."""
    texts = random_sentences(tokenizer, case.batch, case.tokens)
    work = Workload([[*tokenizer.encode(text), tokenizer.end_id] for text in texts], texts, case.tokens)
    outputs: dict[str, tuple[Worker, list[list[int]]]] = {}
    for worker in workers.values():
        for row, ids in worker.call("prepare", case.name, work).items():
            if [len(sentence) for sentence in ids] != [case.tokens] * case.batch:
                raise RuntimeError(f"{row} did not generate {case.tokens} tokens per sentence in {case.name}.")
            outputs[row] = worker, ids
    return outputs


def _agreement(outputs: Mapping[str, list[list[int]]]) -> dict[str, float]:
    """Return the share of tokens equal to those of `REFERENCE`, except for the tutorial, which has other weights."""
    if REFERENCE not in outputs:
        return {}
    return {
        row: compute_token_agreement(ids, outputs[REFERENCE])
        for row, ids in outputs.items()
        if row != REFERENCE and not row.startswith("tutorial")
    }


def find_disagreements(result: Mapping[str, Any]) -> list[str]:
    """Return an error per exact engine whose tokens differ from Headlight's, so that its times are not comparable."""
    return [
        f"{case['name']}: {row} generated other tokens than Headlight ({share:.1%} are equal)"
        for case in result["cases"]
        for row, share in case["same_tokens"].items()
        if row in EXACT_ENGINES and share < 1.0
    ]
