"""Throughput over thousands of everyday lines, compared with CTranslate2 at its best batch size."""

from __future__ import annotations

import csv
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

from headlight.model.families.loading import load_checkpoint
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.translate.packed_model import StepWeights
from workshop.benchmarks.arithmetic import compute_token_agreement, summarise_quartiles
from workshop.benchmarks.countdown_model import CountdownModel
from workshop.benchmarks.engines import CPU_ENGINES
from workshop.benchmarks.engines.ctranslate import converted_folder, ids_to_tokens
from workshop.benchmarks.random_models import save_for_all_engines, train_random_tokenizer
from workshop.benchmarks.shapes import SMALL, Shape
from workshop.benchmarks.worker import Worker

TRAINED_MODEL = Path("assets/models/de-en")
CORPUS = Path("assets/corpora/mini.tsv")
MIN_LINES_FOR_ALL_BATCH_SIZES = 1_000
BATCH_SIZES = (  # the sizes that CTranslate2's documentation suggests, and sizes around them
    ("examples", 16), ("examples", 32), ("examples", 64), ("examples", 128), ("examples", 256),
    ("tokens", 512), ("tokens", 1024), ("tokens", 2048), ("tokens", 4096),
)  # fmt: skip


class BenchmarkLines(NamedTuple):
    """The lines to translate and the model."""

    folder: Path
    tokenizer: Tokenizer
    texts: list[str]
    model_description: str


class Run(NamedTuple):
    """One pass over all lines."""

    seconds: float
    ids: list[list[int]]  # target ids, without the end token


def measure(
    count: int, repetitions: int, threads: int, log: Callable[[str], None], shape: Shape = SMALL
) -> dict[str, Any]:
    """Measure Headlight and CTranslate2 (float32 and int8) alternately, or only Headlight if CTranslate2 is missing.

    CTranslate2 runs with the batch size that was fastest in one float32 pass.
    """
    with tempfile.TemporaryDirectory() as temporary:
        lines = load_lines(Path(temporary) / "model", count, shape)
        texts, ids = lines.texts, lines.tokenizer.encode_batch(lines.texts)
        max_length = 2 * max(map(len, ids)) + 16
        result: dict[str, Any] = {"lines": count, "repetitions": repetitions, "threads": threads}
        result |= {"about_model": lines.model_description, "source_tokens": sum(map(len, ids))}
        with Worker(HeadlightLines, lines.folder, texts, threads) as headlight:
            headlight_ids = headlight.call("run").ids
            result["own_tokens"] = compute_token_agreement(headlight_ids, _translate_in_float32(lines, texts, threads))
            result["written_tokens"] = sum(map(len, headlight_ids))
            result["absence"] = CPU_ENGINES["ctranslate2"].unavailable_reason
            if result["absence"]:
                runs = [headlight.call("run").seconds for _ in range(repetitions)]
                return result | {"seconds": {"headlight": summarise_quartiles(runs)}}
            with Worker(CTranslateLines, lines.folder, _add_end_token(ids, lines), max_length, threads) as ctranslate:
                runs_by_batch: dict[tuple[str, int], Run] = {}
                for kind, size in BATCH_SIZES if count >= MIN_LINES_FOR_ALL_BATCH_SIZES else BATCH_SIZES[:1]:
                    runs_by_batch[kind, size] = ctranslate.call("run", kind, size)
                    log(f"CTranslate2, batches of {size} {kind}: {runs_by_batch[kind, size].seconds:.2f} s")
                kind, size = min(runs_by_batch, key=lambda batch: runs_by_batch[batch].seconds)
                result["same_tokens"] = compute_token_agreement(headlight_ids, runs_by_batch[kind, size].ids)
                result["tried"] = {f"{size} {kind}": run.seconds for (kind, size), run in runs_by_batch.items()}
                result["best"] = f"{size} {kind}"
                seconds: dict[str, list[float]] = {"headlight": [], "ctranslate2": [], "ctranslate2-int8": []}
                with Worker(
                    CTranslateLines, lines.folder, _add_end_token(ids, lines), max_length, threads, "int8"
                ) as ctranslate_int8:
                    ctranslate_int8.call("run", kind, size)
                    for repetition in range(repetitions):
                        seconds["headlight"].append(headlight.call("run").seconds)
                        seconds["ctranslate2"].append(ctranslate.call("run", kind, size).seconds)
                        seconds["ctranslate2-int8"].append(ctranslate_int8.call("run", kind, size).seconds)
                        log(f"lines: {repetition + 1} of {repetitions}")
        return result | {"seconds": {name: summarise_quartiles(runs) for name, runs in seconds.items()}}


def _translate_in_float32(lines: BenchmarkLines, texts: Sequence[str], threads: int) -> list[list[int]]:
    """Return the target ids of the lines, translated with float32 weights in each step."""
    with Worker(HeadlightLines, lines.folder, texts, threads, "float32") as worker:
        ids: list[list[int]] = worker.call("run").ids
    return ids


def load_lines(folder: Path, count: int, shape: Shape) -> BenchmarkLines:
    """Return corpus sentences and the trained model; without a trained model, random lines and a random model."""
    if (TRAINED_MODEL / "config.json").exists():
        with CORPUS.open(encoding="utf-8", newline="") as file:
            sentences = [row["de"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
        loaded = load_checkpoint(TRAINED_MODEL)
        save_for_all_engines(folder, loaded.model, loaded.source_tokenizer, loaded.target_tokenizer)
        description = f"{TRAINED_MODEL}, sentences of {CORPUS}, repeated"
        return BenchmarkLines(folder, loaded.source_tokenizer, list(islice(cycle(sentences), count)), description)
    tokenizer = train_random_tokenizer(shape.vocabulary)
    countdown = CountdownModel(shape, tokenizer)
    save_for_all_engines(folder, countdown.model, tokenizer)
    source = "`workshop/benchmarks/countdown_model.py`"
    description = f"{shape.words}; random weights that write as many words as they read ({source})"
    return BenchmarkLines(folder, tokenizer, countdown.sample_lines(count), description)


def _add_end_token(ids: list[list[int]], lines: BenchmarkLines) -> list[list[int]]:
    return [[*line_ids, lines.tokenizer.end_id] for line_ids in ids]


class HeadlightLines:
    """`Translator.translate_lines`, from text to text, including tokenisation."""

    def __init__(self, folder: Path, texts: Sequence[str], threads: int, step_weights: StepWeights = "float16") -> None:
        import torch

        from headlight.model.translate.translator import Translator

        torch.set_num_threads(threads)
        self.translator = Translator.load(folder, device="cpu", step_weights=step_weights)
        self.texts = texts

    def run(self) -> Run:
        """Translate all lines once."""
        start = time.perf_counter()
        translations = self.translator.translate_lines(self.texts)
        seconds = time.perf_counter() - start
        return Run(seconds, self.translator.target_tokenizer.encode_batch(translations))


class CTranslateLines:
    """CTranslate2, from tokens to tokens, without tokenisation."""

    def __init__(
        self, folder: Path, ids: list[list[int]], max_length: int, threads: int, compute_type: str = "float32"
    ) -> None:
        import ctranslate2

        self.translator = ctranslate2.Translator(
            str(converted_folder(folder)),
            device="cpu",
            compute_type=compute_type,
            inter_threads=1,
            intra_threads=threads,
        )
        self.tokens = ids_to_tokens(ids)
        self.max_length = max_length

    def run(self, batch_type: str, batch_size: int) -> Run:
        """Translate all lines once. CTranslate2 sorts them by length and batches them."""
        start = time.perf_counter()
        result = self.translator.translate_batch(
            self.tokens,
            beam_size=1,
            max_batch_size=batch_size,
            batch_type=batch_type,
            max_decoding_length=self.max_length,
        )
        seconds = time.perf_counter() - start
        return Run(seconds, [[int(token) for token in output.hypotheses[0]] for output in result])
