"""Sentences that share a batch with the visitor's sentence."""

from __future__ import annotations

import csv
from dataclasses import replace
from functools import cache

from headlight.model.checkpoints.shipped import ASSETS
from headlight.model.records import TranslationRequest
from headlight.viz.lessons.experiment import ExperimentInput

MAX_BATCH = 8  # sentences per batch; the visitor's is the first


@cache
def load_batch_sentences(language: str) -> tuple[str, ...]:
    """Return short sentences of different lengths, in German if the corpus lacks the language."""
    with (ASSETS / "corpora" / "mini.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    column = language if language in rows[0] else "de"
    return tuple(row[column] for row in rows[:: len(rows) // (MAX_BATCH - 1)])[: MAX_BATCH - 1]


def find_model_languages(inputs: ExperimentInput) -> tuple[str, str]:
    """Return the source and target language of the request's model; an empty string if unknown."""
    name = inputs.request.model or inputs.service.default
    source, target, *_ = (*inputs.service.catalogue.card(name, "transformer").languages, "", "")
    return source, target


def plain_request(inputs: ExperimentInput, text: str) -> TranslationRequest:
    """Return a request for another text, without interventions in the model."""
    return replace(inputs.request, text=text, target=None, prefix=None, interventions=())


def tokenize_batch_sentences(inputs: ExperimentInput) -> list[tuple[int, ...]]:
    """Return the token ids of the other sentences, by the tokenizer of the request's model."""
    texts = load_batch_sentences(find_model_languages(inputs)[0] or "de")
    sources = inputs.model_info.checker.prepare([plain_request(inputs, text) for text in texts]).sources
    return [tuple(token.id for token in source) for source in sources]
