"""Time to measure the importance of each head, layer and kind of attention in the bundled model."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from workshop.benchmarks.arithmetic import summarise_quartiles
from workshop.benchmarks.page import SENTENCE_20_TOKENS

MODEL = "de-en"


def measure(repetitions: int, threads: int, log: Callable[[str], None]) -> dict[str, Any]:
    """Measure all parts in total, and the longest batch. The page requests one batch at a time."""
    import torch

    from headlight.model.experiments.importance import batch_size, list_all_parts, measure_ablation_losses
    from headlight.model.translate.translator import Translator

    torch.set_num_threads(threads)
    translator = Translator.load(MODEL, device="cpu")
    answer = translator.translate(SENTENCE_20_TOKENS, beam_size=4)
    parts = list_all_parts(translator.model.config)
    totals, longest = [], []
    for turn in range(repetitions + 1):
        timestamps = [time.perf_counter()]
        for _ in measure_ablation_losses(translator, answer, [(part,) for part in parts]):
            timestamps.append(time.perf_counter())
        if turn:  # the first run is a warm-up
            totals.append(timestamps[-1] - timestamps[0])
            longest.append(max(after - before for before, after in pairwise(timestamps)))
            log(f"importance: {totals[-1]:.2f} s")
    return {
        "model": MODEL,
        "source_tokens": len(answer.source_tokens),
        "target_tokens": len(answer.target_tokens),
        "parts": len(parts),
        "heads": sum(part.head is not None for part in parts),
        "at_once": batch_size(translator.model.config, answer),
        "repetitions": repetitions,
        "threads": threads,
        "all": summarise_quartiles(totals),
        "batch": summarise_quartiles(longest),
    }
