"""Headlight, from ids to ids and from text to `Translation`."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch

from headlight.model.families.loading import load_checkpoint
from headlight.model.translate.device import DeviceChoice
from headlight.model.translate.packed_model import StepWeights
from headlight.model.translate.results import SearchResult
from headlight.model.translate.translator import Translator
from workshop.benchmarks.engines import Job, Workload


class Headlight:
    """The translator that the page uses."""

    def __init__(self, translator: Translator, row: str) -> None:
        self.translator = translator
        self.row = row

    def jobs(self, work: Workload) -> dict[str, Job]:
        """Return the job from ids to ids and, with the default weights, that from text to `Translation`."""
        jobs: dict[str, Job] = {self.row: model_level(self.translator, work)}
        if self.row == "headlight":
            jobs["translator"] = lambda: self.translate(work)
        return jobs

    def translate(self, work: Workload) -> list[list[int]]:
        """Translate texts to `Translation` records and return their target ids."""
        if len(work.texts) == 1:
            results = [self.translator.translate(work.texts[0], max_length=work.length)]
        else:
            results = self.translator.translate_batch(work.texts, max_length=work.length)
        return [[token.id for token in translation.target_tokens] for translation in results]


def model_level(translator: Translator, work: Workload) -> Job:
    """Return a job from ids to ids that computes all maps, token probabilities and best alternatives.

    The job runs the translator's code without its two ends: the texts are tokenised in advance, and the result is ids
    instead of a record.
    """
    requests = [translator.request(text, max_length=work.length) for text in work.texts]
    job = translator.checker.prepare(requests)
    if job.source_ids.tolist() != work.ids:
        raise RuntimeError("The translator's token ids differ from those of the other engines.")

    def best_ids(job: Any, sentence: int, result: SearchResult, *others: Any) -> Any:
        return result.candidates[0].ids

    reduced = copy.copy(translator)
    reduced.checker = copy.copy(translator.checker)
    reduced.checker.prepare = lambda requests: job  # type: ignore[method-assign]
    reduced._make_translation = best_ids  # type: ignore[assignment, method-assign]
    return lambda: reduced._translate_batch(requests)  # type: ignore[return-value]


def load(
    folder: Path,
    *,
    row: str = "headlight",
    device: str = "cpu",
    dtype: str = "float32",
    step_weights: StepWeights = "float16",
    threads: int,
) -> Headlight:
    """Load a folder as the page does, but on a given device."""
    torch.set_num_threads(threads)
    choice = DeviceChoice(torch.device(device), getattr(torch, dtype), "chosen for a measurement.")
    loaded = load_checkpoint(folder, device=choice.device, dtype=choice.dtype)
    translator = Translator(
        loaded.model, loaded.source_tokenizer, loaded.target_tokenizer, choice=choice, step_weights=step_weights
    )
    return Headlight(translator, row)
