"""Overhead of unwatched probes, compared with the same code without probes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from headlight.model.core.transformer import DecoderState
from headlight.model.translate.packed_model import prepare_step
from workshop.benchmarks.arithmetic import compute_paired_ratio
from workshop.benchmarks.random_models import make_random_model
from workshop.benchmarks.shapes import Shape
from workshop.benchmarks.without_probes import without_probes
from workshop.benchmarks.worker import Worker

SHAPE = Shape("d 256 × 3", d_model=256, layers=3, heads=4, d_ff=1024, vocabulary=8_000)
TOKENS = 20  # tokens of the source and of the target
Run = Callable[[], float]  # seconds


def measure(repetitions: int, threads: int = 1, shape: Shape = SHAPE) -> dict[str, Any]:
    """Measure cached steps and teacher-forced passes in pairs, in a separate process."""
    with Worker(Pairs, shape, threads) as worker:
        return {
            "shape": shape.words,
            "tokens": TOKENS,
            "threads": threads,
            "step": worker.call("step", repetitions),
            "pass": worker.call("whole_pass", repetitions),
            "control": worker.call("control", repetitions),
            "prepared": worker.call("prepared", repetitions),
        }


class Pairs:
    """A model and its twin without probes, to run in pairs."""

    def __init__(self, shape: Shape, threads: int) -> None:
        torch.set_num_threads(threads)
        self.model = make_random_model(shape.config)
        build = without_probes().Transformer
        # The models share tensors, because copies at other addresses were up to 8% faster or slower.
        self.twin, self.double = (self._load_weights(build(shape.config)) for _ in range(2))
        self.source = torch.randint(3, shape.vocabulary, (1, TOKENS))
        self.target = torch.randint(3, shape.vocabulary, (1, TOKENS))
        with torch.inference_mode():
            if not torch.equal(self.model(self.source, self.target), self.twin(self.source, self.target)):
                raise RuntimeError("The output of the copy without probes differs.")

    def step(self, pairs: int) -> dict[str, Any]:
        """Compare one cached step, averaged over a sentence."""
        return _compare(lambda: self._time_steps(self.model), lambda: self._time_steps(self.twin), pairs)

    def whole_pass(self, pairs: int) -> dict[str, Any]:
        """Compare one teacher-forced pass."""
        return _compare(lambda: self._time_pass(self.model), lambda: self._time_pass(self.twin), pairs)

    def control(self, pairs: int) -> dict[str, Any]:
        """Compare two equal models, to show how far a ratio deviates from 1 by chance."""
        return _compare(lambda: self._time_steps(self.double), lambda: self._time_steps(self.twin), pairs)

    def prepared(self, pairs: int) -> dict[str, Any]:
        """Compare the prepared step, which decoding uses without a watch, with the plain step without probes."""
        step, _ = prepare_step(self.model.decoder)
        return _compare(lambda: self._time_steps(self.model, step), lambda: self._time_steps(self.twin), pairs)

    def _load_weights(self, model: Any) -> Any:
        model.load_state_dict(self.model.state_dict(), assign=True)
        return model.eval().requires_grad_(False)

    @torch.inference_mode()
    def _time_steps(self, model: Any, step: Callable[[Tensor, DecoderState], Tensor] | None = None) -> float:
        """Return the mean seconds of a step."""
        decoder = step or model.decoder
        state = model.decoder.new_state(model.encode(self.source, padded=False), cached=True)
        ids = [self.target[:, index : index + 1] for index in range(TOKENS)]
        start = time.perf_counter()
        for token in ids:
            decoder(token, state)
        return (time.perf_counter() - start) / TOKENS

    @torch.inference_mode()
    def _time_pass(self, model: Any) -> float:
        start = time.perf_counter()
        model(self.source, self.target, padded=False)
        return time.perf_counter() - start


def _compare(ours: Run, others: Run, pairs: int) -> dict[str, Any]:
    """Measure pairs in alternating order."""
    for run in (ours, others) * 3:
        run()
    our_times: list[float] = []
    other_times: list[float] = []
    for pair in range(pairs):
        if pair % 2:
            other_times.append(others())
            our_times.append(ours())
        else:
            our_times.append(ours())
            other_times.append(others())
    return {
        "ratio": compute_paired_ratio(our_times, other_times),
        "seconds": {"ours": statistics.median(our_times), "others": statistics.median(other_times)},
    }
