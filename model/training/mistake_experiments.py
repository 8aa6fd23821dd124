"""Translates a sentence with a copy of a trained model that has a deliberate mistake."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from headlight.model.core.transformer import Transformer
from headlight.model.records import Translation
from headlight.model.training.mistake_tests import run_mistake_test
from headlight.model.training.mistakes import MISTAKES, cross_entropy, cross_entropy_of_probabilities, with_mistakes
from headlight.model.translate.translator import Translator

LOGITS = "decoder.output.logits"


@dataclass(frozen=True)
class MistakeResult:
    """Translation of a sentence by the broken copy."""

    forced: Translation | None  # the right translation, as the wrong copy scores it
    generated: Translation | None  # free translation
    error: str  # PyTorch's message if the model cannot run
    loss: float  # of each token of the right translation, as such code reports it
    right_loss: float


def try_mistakes(translator: Translator, translation: Translation, names: Sequence[str]) -> MistakeResult:
    """Put mistakes into a copy of the model, and let it translate."""
    wrong = Translator(
        with_mistakes(translator.model, names),
        translator.source_tokenizer,
        translator.target_tokenizer,
        name=translator.name,
        choice=translator.choice,
        step_weights="plain",
        rule=translator.rule,
        languages=translator.languages,
        generation_defaults=translator.generation_defaults,
    )
    own = replace(translation.request, prefix=None, capture=())
    value = replace(own, target=tuple(token.id for token in translation.target_tokens), capture=(LOGITS,))
    right = forced_loss(translator.translate(value), [])
    try:
        held = wrong.translate(value)
        written = wrong.translate(replace(own, target=None))
    except RuntimeError as error:
        return MistakeResult(None, None, str(error).partition("\n")[0], float("nan"), right)
    return MistakeResult(held, written, "", forced_loss(held, names), right)


def forced_loss(held: Translation, names: Sequence[str]) -> float:
    """The mean loss of the words of a translation whose logits were captured."""
    twice = any(MISTAKES[name].in_training for name in names)
    logits = torch.from_numpy(np.array(held.captured[LOGITS]))
    words = torch.tensor([token.id for token in held.target_tokens])
    return float((cross_entropy_of_probabilities if twice else cross_entropy)(logits, words)) / len(words)


def run_test(model: Transformer, name: str, made: Sequence[str]) -> tuple[bool, str]:
    """Whether the test of a mistake passes where some are `made`, and the number that it is about, or the complaint."""
    if MISTAKES[name].in_training:
        subject: object = cross_entropy_of_probabilities if name in made else cross_entropy
    else:
        subject = with_mistakes(model, made).to("cpu", torch.float32)
    try:
        return True, f"{run_mistake_test(name, subject):.4f}"
    except (AssertionError, RuntimeError) as error:  # one mistake may keep the test of another from running
        return False, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


@dataclass(frozen=True)
class MistakeTestResult:
    """Result of a mistake's test on the correct model and on the copy: passed or failed, and its number."""

    right: tuple[bool, str]
    wrong: tuple[bool, str]


def run_tests(
    translator: Translator, translation: Translation, names: Sequence[str]
) -> tuple[MistakeResult, dict[str, MistakeTestResult]]:
    """Mistakes in a copy of the model, and the result of each test."""
    model = translator.model
    tests = {name: MistakeTestResult(run_test(model, name, []), run_test(model, name, names)) for name in names}
    return try_mistakes(translator, translation, names), tests
