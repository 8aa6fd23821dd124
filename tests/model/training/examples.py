"""A small recipe over the repository's own sentences, for the tests of training."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import torch

from headlight.model.core.transformer import Transformer
from headlight.model.training.batches import RaggedArray, Sentences, SpecialIds
from headlight.model.training.loop import ComputeSettings, Trainer
from headlight.model.training.processes import Processes
from headlight.model.training.recipe import Recipe, recipe_from_json

CORPORA = Path(__file__).resolve().parents[3] / "assets" / "corpora"
SPECIAL = SpecialIds(pad=0, start=1, source_end=2, target_end=2)
VOCABULARY = 29
MODEL = {"d_model": 22, "heads": 2, "d_ff": 23, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0}


def recipe_text(**fields: Any) -> str:
    """A recipe file: some sentences of `mini.tsv`, a tiny model."""
    import json

    values: dict[str, Any] = {
        "name": "tiny",
        "source_language": "de",
        "target_language": "en",
        "corpora": [{"source": "mini.tsv", "header": True}],
        "validation": [],
        "tokenizer": {"vocabulary": 400},
        "model": MODEL,
        "optimisation": {"peak_rate": 0.003, "warmup_steps": 7},
        "batching": {"batch_tokens": 211, "max_sentence_tokens": 97},
        "steps": 37,
    }
    return json.dumps(values | fields)


def make_recipe(**fields: Any) -> Recipe:
    """The recipe of `recipe_text`, parsed."""
    return recipe_from_json(recipe_text(**fields))


def first_lines(folder: Path, count: int) -> Path:
    """Copy the header and the first sentences of `mini.tsv` into a folder, which is returned."""
    with (CORPORA / "mini.tsv").open(encoding="utf-8") as file:
        (folder / "mini.tsv").write_text("".join(itertools.islice(file, count + 1)), encoding="utf-8")
    return folder


def random_sentences(count: int, *, seed: int = 0, weights: tuple[float, ...] = (1.0,)) -> Sentences:
    """Pairs of random ids without special ones, 1 to 13 long, in one corpus per weight."""
    generator = np.random.default_rng(seed)
    rows = [generator.integers(3, VOCABULARY, generator.integers(1, 14)).tolist() for _ in range(2 * count)]
    corpus = np.arange(count, dtype=np.int32) % len(weights)
    return Sentences(RaggedArray(rows[:count]), RaggedArray(rows[count:]), corpus, weights)


def make_trainer(recipe: Recipe, processes: Processes | None = None) -> Trainer:
    """A trainer of a tiny float32 model; the initial weights are fixed."""
    torch.manual_seed(3)
    model = Transformer(recipe.model_config(source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY))
    return Trainer(model, recipe, SPECIAL, ComputeSettings(torch.device("cpu"), "float32"), processes or Processes())
