"""Training speed of Headlight's loop and of a tutorial's loop, on sentences of mixed length.

    python -m workshop.benchmarks.training plain --seconds 8  # one measurement: prints target tokens per second

Every measurement runs in a new process, or in two for the setup that the documentation recommends on two cores.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from headlight.model.core.transformer import Transformer
from headlight.model.training.batches import (
    RaggedArray,
    RowArray,
    Sentences,
    SpecialIds,
    make_batch,
    plan_epoch,
    target_tokens,
)
from headlight.model.training.loop import ComputeSettings, Trainer, run_steps
from headlight.model.training.processes import Processes, choose_device, join_process_group
from headlight.model.training.recipe import Recipe, recipe_from_json
from workshop.benchmarks.arithmetic import summarise_quartiles
from workshop.benchmarks.engines.tutorial import TutorialModel
from workshop.benchmarks.shapes import Shape

SHAPE = Shape("lesson", d_model=256, layers=3, heads=8, d_ff=1024, vocabulary=8_000)
SPECIAL = SpecialIds(pad=0, start=1, source_end=2, target_end=2)
# Share, median length in tokens and spread of the log length of everyday sentences, captions and news.
LENGTHS = ((0.75, 8, 0.42), (0.12, 14, 0.31), (0.13, 25, 0.60))
MAX_SENTENCE_TOKENS = 100  # tokens of a sentence
FIXED_BATCH = 64  # sentences, as in tutorials
WARM_UP_STEPS = 3  # not measured
ENGINES = ("plain", "buckets", "headlight", "headlight-two")


def measure(repetitions: int, seconds: float, threads: int, log: Callable[[str], None]) -> dict[str, Any]:
    """Measure the target tokens per second of all engines, interleaved (A B C D A B C D …)."""
    speeds: dict[str, list[float]] = {engine: [] for engine in ENGINES}
    for repetition in range(repetitions):
        for engine in ENGINES:
            speeds[engine].append(_run_in_process(engine, seconds, threads))
        log(f"training: {repetition + 1} of {repetitions}")
    return {
        "repetitions": repetitions,
        "threads": threads,
        "shape": SHAPE.words,
        "speeds": {engine: summarise_quartiles(result) for engine, result in speeds.items()},
    }


def _run_in_process(engine: str, seconds: float, threads: int) -> float:
    command = [sys.executable]
    if engine == "headlight-two":
        engine, threads = "headlight", 1
        command += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += ["-m", "workshop.benchmarks.training", engine, "--seconds", str(seconds), "--threads", str(threads)]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    completed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if completed.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{completed.stderr}")
    return float(completed.stdout.split()[-1])


# ------------------------------------------------------------ training data


def random_pairs(count: int, seed: int = 0) -> Sentences:
    """Return pairs of random tokens with the length distribution of the training text."""
    generator = np.random.default_rng(seed)
    shares, medians, spreads = (np.array(column) for column in zip(*LENGTHS, strict=True))
    kinds = generator.choice(len(LENGTHS), size=count, p=shares)
    target = medians[kinds] * np.exp(spreads[kinds] * generator.standard_normal(count))
    source = target * np.exp(0.15 * generator.standard_normal(count))
    lengths = [np.clip(side.round().astype(int), 1, MAX_SENTENCE_TOKENS) for side in (source, target)]
    rows = [[generator.integers(3, SHAPE.vocabulary, length).tolist() for length in side] for side in lengths]
    return Sentences(RaggedArray(rows[0]), RaggedArray(rows[1]), np.zeros(count, dtype=np.int32), (1.0,))


def make_fixed_batches(sentences: Sentences, seed: int = 0) -> list[RowArray]:
    """Return batches of 64 sentences in random order."""
    order = np.random.default_rng(seed).permutation(len(sentences.source))
    return [order[start : start + FIXED_BATCH] for start in range(0, len(order), FIXED_BATCH)]


def recipe() -> Recipe:
    """Return a recipe with the settings of the shipped models, in the shape of the benchmark."""
    return recipe_from_json(
        f"""{{"name": "benchmark", "source_language": "de", "target_language": "en",
        "corpora": [{{"source": "none"}}], "validation": [],
        "model": {{"d_model": {SHAPE.d_model}, "heads": {SHAPE.heads}, "d_ff": {SHAPE.d_ff},
                   "encoder_layers": {SHAPE.layers}, "decoder_layers": {SHAPE.layers},
                   "norm_first": true, "final_norm": true, "dropout": 0.1}},
        "batching": {{"batch_tokens": 5000, "max_sentence_tokens": 120}}}}"""
    )


# ------------------------------------------------------------ one measurement


def run_plain_loop(sentences: Sentences, batches: Sequence[RowArray]) -> Iterator[tuple[int, Tensor]]:
    """Train as tutorials do, in float32. Yield the target tokens and the loss of each step."""
    torch.manual_seed(0)
    model = TutorialModel(SHAPE.config).train()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    criterion = nn.CrossEntropyLoss(ignore_index=SPECIAL.pad, label_smoothing=0.1)
    while True:
        for rows in batches:
            batch = make_batch(sentences, rows, SPECIAL)
            labels = torch.full(batch.target.shape, SPECIAL.pad).flatten()
            labels[batch.word_indices] = batch.words
            optimiser.zero_grad()
            logits = model(batch.source, batch.target)  # [batch, target, vocabulary]
            loss = criterion(logits.flatten(0, 1), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            yield target_tokens(sentences, rows), loss.detach()


def measure_plain_speed(sentences: Sentences, batches: Sequence[RowArray], seconds: float) -> float:
    """Return the target tokens per second of the tutorial's loop."""
    steps = run_plain_loop(sentences, batches)
    for _ in range(WARM_UP_STEPS):
        next(steps)
    tokens, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        tokens += next(steps)[0]
    return tokens / (time.perf_counter() - start)


def measure_our_speed(sentences: Sentences, seconds: float) -> float | None:
    """Return the target tokens per second over all processes; None in all but the first process."""
    with join_process_group() as processes:
        speed = _time_trainer_steps(sentences, seconds, processes)  # frees the trainer before the processes exit
        gc.collect()
        processes.barrier()
    return speed if processes.first else None


def _time_trainer_steps(sentences: Sentences, seconds: float, processes: Processes) -> float:
    torch.manual_seed(0)
    training_recipe, size = recipe(), SHAPE.vocabulary
    model = Transformer(training_recipe.model_config(source_vocabulary=size, target_vocabulary=size))
    trainer = Trainer(model, training_recipe, SPECIAL, ComputeSettings(choose_device("cpu", processes)), processes)
    marks: list[tuple[float, int]] = []

    def after_step(rate: float) -> bool:
        if trainer.progress.step >= WARM_UP_STEPS:
            marks.append((time.perf_counter(), trainer.progress.tokens))
        return processes.any_process(bool(marks) and marks[-1][0] - marks[0][0] > seconds)

    run_steps(trainer, lambda epoch: sentences, 1_000_000, 0, after_step)
    (start, start_tokens), (end, end_tokens) = marks[0], marks[-1]
    return (end_tokens - start_tokens) / (end - start)


def main(arguments: Sequence[str]) -> None:
    """Run one measurement in this process and print the tokens per second."""
    parser = argparse.ArgumentParser(prog="python -m workshop.benchmarks.training")
    parser.add_argument("engine", choices=ENGINES[:3])
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    sentences = random_pairs(20_000)
    if options.engine == "headlight":
        speed = measure_our_speed(sentences, options.seconds)
    else:
        bucketed = plan_epoch(sentences, recipe().batching, seed=0, epoch=0)
        batches = bucketed if options.engine == "buckets" else make_fixed_batches(sentences)
        speed = measure_plain_speed(sentences, batches, options.seconds)
    if speed is not None:
        print(speed)


if __name__ == "__main__":
    main(sys.argv[1:])
