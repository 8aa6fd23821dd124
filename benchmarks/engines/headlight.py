"""Ours: once on the level of the model, and once from text to `Translation`."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from benchmarks.engines import Job, Work
from model.capture import read_source, read_target
from model.checkpoint import load_checkpoint
from model.decoding.search import OneByOne, Plan
from model.decoding.step import choose_best, make_rules
from model.device import DeviceChoice
from model.fast import StepWeights
from model.records import DecodingOptions
from model.translator import Translator


class Headlight:
    """The translator of the app."""

    def __init__(self, translator: Translator, row: str) -> None:
        self.translator = translator
        self.row = row

    def jobs(self, work: Work) -> dict[str, Job]:
        """What `Translator` does without words and records; with the default weights, `Translator` itself, too."""
        jobs: dict[str, Job] = {self.row: lambda: self.decode_and_look(work)}
        if self.row == "headlight":
            jobs["translator"] = lambda: self.translate(work)
        return jobs

    def translate(self, work: Work) -> list[list[int]]:
        """Text in, `Translation` out."""
        if len(work.texts) == 1:
            found = [self.translator.translate(work.texts[0], max_length=work.length)]
        else:
            found = self.translator.translate_batch(work.texts, max_length=work.length)
        return [[token.id for token in translation.target_tokens] for translation in found]

    def decode_and_look(self, work: Work) -> list[list[int]]:
        """Ids in; out come all tokens, all maps, the probability of each token and its best alternatives."""
        model, passes, device = self.translator.model, self.translator.passes, self.translator.device
        config, options = model.config, DecodingOptions(max_length=work.length)
        source_ids = torch.tensor(work.ids, device=device)
        with torch.inference_mode():
            memory, sight = read_source(model, passes, source_ids, ())
            state = passes.decoder.start(memory, cached=True)
            plan = Plan(
                decoder=self.translator.step,
                state=state,
                rules=make_rules(config, options, [[] for _ in work.ids], device),
                limits=[work.length] * len(work.ids),
                start_id=config.start_id,
                end_id=config.end_id,
                device=device,
            )
            cross = state.cross
            search = OneByOne(plan, choose_best, scored=False)
            while search.advance():
                pass
            written = torch.tensor([found[0].ids for found in search.results], device=device)
            read_target(
                model,
                passes,
                memory,
                cross,
                _shifted(written, config.start_id),
                written,
                sight,
                (),
                options.alternatives,
            )
        ids: list[list[int]] = written.tolist()
        return ids


def _shifted(written: Tensor, start_id: int) -> Tensor:
    """What goes in when these tokens come out, `[batch, tokens]`."""
    return torch.cat([torch.full_like(written[:, :1], start_id), written[:, :-1]], dim=1)


def load(
    folder: Path,
    *,
    row: str = "headlight",
    device: str = "cpu",
    dtype: str = "float32",
    step_weights: StepWeights = "float16",
    threads: int,
) -> Headlight:
    """Load the folder as the app does, but on a device of our choice."""
    torch.set_num_threads(threads)
    choice = DeviceChoice(torch.device(device), getattr(torch, dtype), "chosen for a measurement.")
    loaded = load_checkpoint(folder, device=choice.device, dtype=choice.dtype)
    translator = Translator(
        loaded.model, loaded.source_tokenizer, loaded.target_tokenizer, choice=choice, step_weights=step_weights
    )
    return Headlight(translator, row)
