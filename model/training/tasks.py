"""Training tasks: translation and classification. The loop calls only the functions of a `Task`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from headlight.model.core.transformer import Transformer
from headlight.model.training import classification
from headlight.model.training.batches import RowArray, Sentences, SpecialIds, make_batch, target_tokens
from headlight.model.training.loss import LossModule
from headlight.model.training.prepare import CorpusText, Tokenizers, encode
from headlight.model.training.recipe import Recipe
from headlight.model.training.validation import HeldOut, has_sacrebleu, validate


@dataclass(frozen=True)
class Task:
    """The functions that differ between tasks."""

    encode: Callable[[CorpusText, Tokenizers, Recipe], Sentences]
    make_model: Callable[[Recipe, Tokenizers], Any]
    make_losses: Callable[[Any, Recipe], nn.Module]  # batch → `LossSums`
    make_batch: Callable[[Sentences, RowArray, SpecialIds], Any]
    count: Callable[[Sentences, RowArray], int]  # number of items in the summed loss: target tokens or texts
    validate: Callable[[Any, Sequence[HeldOut], Tokenizers, torch.device], dict[str, float]]
    score: str  # metric on each held-out corpus in addition to the loss
    can_score: Callable[[], bool]  # whether the packages for `score` are installed


def make_translator(recipe: Recipe, tokenizers: Tokenizers) -> Transformer:
    """Create an untrained model, sized by recipe and vocabularies."""
    special = tokenizers.special
    config = recipe.model_config(
        source_vocabulary=tokenizers.source.vocabulary_size,
        target_vocabulary=tokenizers.target.vocabulary_size,
        pad_id=special.pad,
        start_id=special.start,
        end_id=special.target_end,
    )
    return Transformer(config)


TASKS = {
    "translation": Task(
        encode=lambda text, tokenizers, recipe: encode(text, tokenizers),
        make_model=make_translator,
        make_losses=lambda model, recipe: LossModule(model, recipe.optimisation.label_smoothing),
        make_batch=make_batch,
        count=target_tokens,
        validate=validate,
        score="bleu",
        can_score=has_sacrebleu,
    ),
    "classification": Task(
        encode=classification.encode,
        make_model=classification.make_classifier,
        make_losses=lambda model, recipe: classification.ClassifierLosses(
            model, recipe.optimisation.label_smoothing, recipe.noise.left_out
        ),
        make_batch=classification.make_batch,
        count=lambda sentences, rows: len(rows),
        validate=classification.validate,
        score="accuracy",
        can_score=lambda: True,
    ),
}
