"""Translation of a sentence with a copy of a trained model that has deliberate mistakes, and tests that detect them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from headlight.model.core.transformer import Transformer
from headlight.model.records import Translation
from headlight.model.training.mistake_tests import run_mistake_test
from headlight.model.training.mistakes import MISTAKES, compute_loss_of_probabilities, cross_entropy, with_mistakes
from headlight.model.translate.translator import Translator

LOGITS = "decoder.output.logits"


@dataclass(frozen=True)
class MistakeResult:
    """Translations of a sentence by the broken copy; None if it cannot run."""

    forced: Translation | None  # the translation of the right model, scored by the broken copy
    generated: Translation | None  # the translation of the broken copy
    error: str  # PyTorch's message if the broken copy cannot run
    loss: float  # loss per token of the right model's translation, as the broken copy computes it
    right_loss: float  # loss per token of that translation in the right model


def try_mistakes(translator: Translator, translation: Translation, names: Sequence[str]) -> MistakeResult:
    """Translate with a copy of the model that has these mistakes."""
    broken = Translator(
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
    request = replace(translation.request, prefix=None, capture=())
    forced_request = replace(request, target=tuple(token.id for token in translation.target_tokens), capture=(LOGITS,))
    right_loss = measure_forced_loss(translator.translate(forced_request), [])
    try:
        forced = broken.translate(forced_request)
        generated = broken.translate(replace(request, target=None))
    except RuntimeError as error:
        return MistakeResult(None, None, str(error).partition("\n")[0], float("nan"), right_loss)
    return MistakeResult(forced, generated, "", measure_forced_loss(forced, names), right_loss)


def measure_forced_loss(translation: Translation, names: Sequence[str]) -> float:
    """Return the mean loss per token of a translation whose logits were captured."""
    softmax_twice = any(MISTAKES[name].in_training for name in names)
    logits = torch.from_numpy(np.array(translation.captured[LOGITS]))
    words = torch.tensor([token.id for token in translation.target_tokens])
    return float((compute_loss_of_probabilities if softmax_twice else cross_entropy)(logits, words)) / len(words)


def run_test(model: Transformer, name: str, mistakes: Sequence[str]) -> tuple[bool, str]:
    """Run the test of mistake `name` on a model with `mistakes`. Return whether it passes, and its number or error."""
    if MISTAKES[name].in_training:
        subject: object = compute_loss_of_probabilities if name in mistakes else cross_entropy
    else:
        subject = with_mistakes(model, mistakes).to("cpu", torch.float32)
    try:
        return True, f"{run_mistake_test(name, subject):.4f}"
    except (AssertionError, RuntimeError) as error:  # a mistake may break the test of another one
        return False, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


@dataclass(frozen=True)
class MistakeTestResult:
    """Results of a test: whether it passes, and its number or error."""

    right: tuple[bool, str]  # on the right model
    wrong: tuple[bool, str]  # on the broken copy


def run_tests(
    translator: Translator, translation: Translation, names: Sequence[str]
) -> tuple[MistakeResult, dict[str, MistakeTestResult]]:
    """Translate with these mistakes, and run the test of each."""
    model = translator.model
    tests = {name: MistakeTestResult(run_test(model, name, []), run_test(model, name, names)) for name in names}
    return try_mistakes(translator, translation, names), tests
