"""Model information without weights: vocabularies, languages, defaults and config.

    info = read_model_info("assets/models/de-en")
    info.checker.prepare([info.request("Ich trinke ein Bier.")])  # ids; no model runs

A `ModelInfo` validates requests and tokenizes texts for a model on another machine. A `Translator` adds the weights.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from headlight.model.checkpoints.checkpoint import check_vocabularies
from headlight.model.core.transformer import Transformer
from headlight.model.decoding.generation_defaults import GenerationDefaults
from headlight.model.families.loading import load_checkpoint
from headlight.model.records import ReliabilityRule, TranslationRequest
from headlight.model.text.languages import Languages
from headlight.model.text.vocabulary import Vocabulary
from headlight.model.translate.reliability import UnfittedRule, load_rule
from headlight.model.translate.requests import RequestChecker

VOCABULARY_ENTRY_BYTES = 300  # approximate memory of a vocabulary entry: its text, its id, and two mappings


class ModelInfo:
    """The vocabularies, languages, defaults and config of a model. `model` may be on the meta device."""

    def __init__(
        self,
        model: Transformer,
        source_tokenizer: Vocabulary,
        target_tokenizer: Vocabulary,
        *,
        name: str = "",
        device: torch.device | None = None,
        rule: ReliabilityRule | None = None,
        languages: Languages | None = None,
        generation_defaults: GenerationDefaults | None = None,
    ) -> None:
        self.model = model
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.rule = rule or UnfittedRule()
        self.languages = languages or Languages()  # languages that a request may choose
        self.generation_defaults = generation_defaults or GenerationDefaults()  # default options of a request
        check_vocabularies("", model.config, source_tokenizer, target_tokenizer)
        self.checker = RequestChecker(
            model,
            source_tokenizer,
            target_tokenizer,
            name,
            device or torch.device("cpu"),
            self.languages,
            self.generation_defaults,
        )

    @property
    def name(self) -> str:
        """Name of the model, as in its requests."""
        return self.checker.name

    @name.setter
    def name(self, name: str) -> None:
        self.checker.name = name

    @property
    def weight_bytes(self) -> int:
        """Approximate memory of the vocabularies in bytes."""
        tokenizers = {
            id(tokenizer): tokenizer.vocabulary_size for tokenizer in (self.source_tokenizer, self.target_tokenizer)
        }
        return VOCABULARY_ENTRY_BYTES * sum(tokenizers.values())

    def request(self, text: str | TranslationRequest, **options: Any) -> TranslationRequest:
        """Return a validated request, as `Translator.translate` uses it. Equal requests have equal translations."""
        return self.checker.request(text, **options)


def read_model_info(folder: str | Path) -> ModelInfo:
    """Load the information of a model folder. Its weights are neither read nor checked."""
    loaded = load_checkpoint(folder, weights=False)
    return ModelInfo(
        loaded.model,
        loaded.source_tokenizer,
        loaded.target_tokenizer,
        name=Path(folder).resolve().name,
        rule=load_rule(loaded.folder),
        languages=loaded.languages,
        generation_defaults=loaded.generation_defaults,
    )
