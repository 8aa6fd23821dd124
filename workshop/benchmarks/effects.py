"""Cost of effects and accounts, and accuracy of parts of scores in bundled models.

`headlight faithfulness` measures the accuracy of effects.

Sentences and cells are drawn with a fixed seed, so only times differ from run to run.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headlight.model.commands.steadiness import TEXTS, sample_sentences
from headlight.model.core.probes import watch
from headlight.model.experiments.account import SOURCE, TARGET, word_account
from headlight.model.experiments.effects import word_effects
from headlight.model.experiments.score_parts import SIDES, Cell, ScoreParts, Side, score_parts, weight_without
from headlight.model.experiments.scoring import decoder_inputs
from headlight.model.records import KINDS, Kind, Translation
from headlight.model.translate.translator import Translator
from workshop.benchmarks.arithmetic import compute_paired_ratio, summarise_quartiles
from workshop.benchmarks.page import SENTENCE_20_TOKENS
from workshop.benchmarks.worker import time_job

MODELS = {"de-en": "de", "zh-en": "zh"}  # model → column of the corpus
TIMED_MODEL = "de-en"
SEED = 1
MIN_SCORE = 0.5  # smaller scores have no clear shares
SUMMED_PARTS = 3  # largest parts, whose sum the page shows
REASON_SHARE = (0.5, 1.5)  # share of the score within which the page calls these parts the reason

Log = Callable[[str], None]
Gradients = tuple[Tensor, ...]


def measure(sentences: int, cells: int, repetitions: int, log: Log, threads: int = 1) -> dict[str, Any]:
    """Measure the cost with one model, and the accuracy with each.

    One thread: two wait for each other where other work shares the cores, which distorts ratios.
    """
    torch.set_num_threads(threads)
    translators = {name: Translator.load(name, device="cpu") for name in MODELS}
    result = {
        "seed": SEED,
        "sentences": sentences,
        "cells": cells,
        "threads": threads,
        "cost": {"model": TIMED_MODEL, **cost(translators[TIMED_MODEL], SENTENCE_20_TOKENS, repetitions, log)},
        "models": {},
    }
    for name, translator in translators.items():
        texts = random_sentences(TEXTS, MODELS[name], sentences)
        translations = [translator.translate(text) for text in texts]
        log(f"effects: {name}, parts of scores")
        directions = count_part_directions(translator, translations, cells)
        shares = measure_explained_shares(translator, translations, cells)
        result["models"][name] = {"directions": directions, "explained": shares}
    return result


def random_sentences(path: Path, column: str, count: int) -> list[str]:
    """Draw sentences of a column of a table. Columns of one table give the same rows."""
    texts = sample_sentences(path, column, 1_000_000)
    return random.Random(SEED).sample(texts, count)  # noqa: S311 - not for secrets


# ------------------------------------------------------------ cost


def cost(translator: Translator, text: str, repetitions: int, log: Log) -> dict[str, Any]:
    """Time effects and account of the word in the middle, in turns with a pass with gradients."""
    translation = translator.translate(text)
    position = len(translation.target_tokens) // 2
    word = translation.target_tokens[position]
    rival = next(other.id for other in word.alternatives if other.id != word.id)
    forward, backward = make_plain_pass(translator, translation, position)
    jobs: dict[str, Callable[[], Any]] = {
        "forward": forward,
        "pass": lambda: backward(forward()),
        "effects": lambda: word_effects(translator, translation, [position]),
        "account": lambda: word_account(translator, translation, position, rival),
    }
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for turn in range(repetitions):
        for name, job in jobs.items():
            seconds[name].append(time_job(job))
        log(f"effects: {turn + 1} of {repetitions} rounds timed")
    return {
        "source_tokens": len(translation.source_tokens),
        "target_tokens": len(translation.target_tokens),
        "place": position,
        "repetitions": repetitions,
        "seconds": {name: summarise_quartiles(times) for name, times in seconds.items()},
        "ratio": {name: compute_paired_ratio(seconds[name], seconds["pass"]) for name in ("effects", "account")},
    }


def make_plain_pass(
    translator: Translator, translation: Translation, position: int
) -> tuple[Callable[[], tuple[Tensor, list[Tensor]]], Callable[[tuple[Tensor, list[Tensor]]], Gradients]]:
    """Return the forward pass of the whole translation, and the backward pass from log p(word) to the embeddings.

    The token ids are ready, attention is fused, and no parameter has a gradient, so the pass does no needless work.
    """
    model, token = translator.model, translation.target_tokens[position].id
    with torch.inference_mode(mode=False):
        batch = translator.checker.prepare([translation.request])
        inputs = decoder_inputs(translator, translation, len(translation.target_tokens), 1)

    def forward() -> tuple[Tensor, list[Tensor]]:
        embeddings: list[Tensor] = []

        def track(stream: Tensor, name: str) -> Tensor:
            embeddings.append(stream.detach().requires_grad_())
            return embeddings[-1]

        with (
            torch.inference_mode(mode=False),
            torch.enable_grad(),
            watch(model, SOURCE, TARGET, edit=track),
        ):
            memory = model.encode(batch.source_ids, batch.source_mask, padded=batch.padded)
            logits = model.decoder(inputs, model.decoder.new_state(memory, cached=False))
            return logits[0, position].float().log_softmax(dim=-1)[token], embeddings

    def backward(graph: tuple[Tensor, list[Tensor]]) -> Gradients:
        return torch.autograd.grad(*graph)

    return forward, backward


# ------------------------------------------------------------ parts of scores


def sample_cells(
    translations: Sequence[Translation], count: int, kinds: Sequence[Kind] = KINDS
) -> Iterator[tuple[Translation, Cell]]:
    """Draw unmasked cells of rows with at least two keys; kinds, layers, heads and rows are equally likely."""
    rng = random.Random(SEED)  # noqa: S311 - not for secrets
    cells = 0
    while cells < count:
        translation, kind = rng.choice(translations), rng.choice(kinds)
        layers, heads, rows, _ = translation.attention.of(kind).shape
        layer, head, row = (rng.randrange(size) for size in (layers, heads, rows))
        columns = np.flatnonzero(translation.attention.allowed(kind)[row]).tolist()
        if len(columns) > 1:
            cells += 1
            yield translation, Cell(kind, layer, head, row, rng.choice(columns))


def count_part_directions(
    translator: Translator, translations: Sequence[Translation], cells: int
) -> dict[str, dict[str, dict[str, int]]]:
    """Count per side and kind the cells whose weight moves against the sign of the largest part that is left out."""
    counts: dict[str, dict[str, dict[str, int]]] = {
        side: {kind: {"cells": 0, "right": 0} for kind in KINDS} for side in SIDES
    }
    for translation, cell in sample_cells(translations, cells):
        for side in SIDES:
            count = counts[side][cell.kind]
            count["cells"] += 1
            count["right"] += has_predicted_direction(translator, translation, cell, side)
    return counts


def has_predicted_direction(translator: Translator, translation: Translation, cell: Cell, side: Side) -> bool:
    """Whether the weight falls without the largest part if that is positive, and rises if it is negative."""
    parts = score_parts(translator, translation, cell, side).parts
    largest = next(part for part in parts if part.writer != "biases")
    weight, without = weight_without(translator, translation, cell, side, [largest])
    return without < weight if largest.value > 0 else without > weight


def measure_explained_shares(
    translator: Translator, translations: Sequence[Translation], cells: int
) -> list[dict[str, float]]:
    """Return per encoder layer how much of a score its first parts explain, over random cells with a clear score."""
    shares: list[list[float]] = [[] for _ in range(translator.model.config.encoder_layers)]
    for translation, cell in sample_cells(translations, cells, ("encoder",)):
        parts = score_parts(translator, translation, cell, "key")
        if abs(parts.score) >= MIN_SCORE:
            shares[cell.layer].append(first_share(parts))
    low, high = REASON_SHARE
    return [
        {
            "cells": len(layer_shares),
            "mean": statistics.fmean(layer_shares) if layer_shares else 0.0,
            "reason": statistics.fmean(low <= share <= high for share in layer_shares) if layer_shares else 0.0,
        }
        for layer_shares in shares
    ]


def first_share(parts: ScoreParts) -> float:
    """Return the share of the score that the largest parts sum to, as the page shows it."""
    return sum(part.value for part in parts.parts[:SUMMED_PARTS]) / parts.score
