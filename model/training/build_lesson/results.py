"""Results of a trained variant, computed from its weights: loss, translations, and an example of a wrong one."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from headlight.model.training.build_lesson.fit import losses, translate
from headlight.model.training.build_lesson.model import Weights
from headlight.model.training.build_lesson.parts import Parts
from headlight.model.training.build_lesson.sentences import END, MAIN_PAIR, PAIRS, TRAINING_PAIRS, make_batch
from headlight.model.training.build_lesson.trained import TrainedVariant


@dataclass(frozen=True)
class TranslatedSentence:
    """A sentence, its right translation, and the model's output, which ends in `END` unless it hit the length limit."""

    source: str
    expected: tuple[str, ...]
    output: tuple[str, ...]


@dataclass(frozen=True)
class VariantResult:
    """Results of the start with the median loss, and the number of starts that translate every pair correctly.

    A start is one random initialisation of the weights, trained to the end.
    """

    loss: float  # on the training pairs
    right_count: int  # number of pairs that are translated correctly
    main: TranslatedSentence
    failing: TranslatedSentence | None  # a wrong translation by this start, or else by another start
    fails_at_median: bool  # whether `failing` comes from the start with the median loss
    starts: int
    perfect_starts: int
    lowest_loss: float
    highest_loss: float


@torch.no_grad()
def measure(parts: Parts, variant: TrainedVariant) -> VariantResult:
    """Compute the results of a variant from its weights."""
    sentences = translate_all(parts, variant.weights)
    wrong = [sentence for sentence in sentences if not is_right(sentence)]
    others = [] if variant.failing_weights is None else translate_all(parts, variant.failing_weights)
    failing = [*wrong, *(sentence for sentence in others if not is_right(sentence))]
    return VariantResult(
        loss=float(losses(parts, variant.weights, make_batch(TRAINING_PAIRS))[0]),
        right_count=len(sentences) - len(wrong),
        main=next(sentence for sentence in sentences if sentence.source == MAIN_PAIR.text),
        failing=failing[0] if failing else None,
        fails_at_median=bool(wrong),
        starts=len(variant.losses),
        perfect_starts=sum(share == 1 for share in variant.right_shares),
        lowest_loss=min(variant.losses),
        highest_loss=max(variant.losses),
    )


def translate_all(parts: Parts, weights: Weights) -> list[TranslatedSentence]:
    """Translate all pairs with one model: the main sentence first, then the other pairs, longest first."""
    pairs = sorted(PAIRS, key=lambda pair: (pair != MAIN_PAIR, -len(pair.source)))
    outputs = translate(parts, weights, pairs)
    return [TranslatedSentence(pair.text, pair.target, words) for pair, words in zip(pairs, outputs, strict=True)]


def is_right(sentence: TranslatedSentence) -> bool:
    """Whether the output is the right translation and ends with `END`."""
    return sentence.output == (*sentence.expected, END)
