"""Every family against `transformers` in float32: equal ids, and all numbers within 1e-4."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.compare import assert_close
from tests.model.families.folders import (
    LENGTHS,
    SENTENCES,
    bart,
    m2m,
    marian,
    mbart,
    nllb,
    pegasus,
    reference_ids,
    reference_outputs,
    t5,
    token_ids,
    translator,
)

SHAPES: dict[str, tuple[Callable[..., Path], dict[str, Any]]] = {
    "marian": (marian, {}),
    "marian with several languages": (
        marian,
        {"codes": ("fra", "zho_Hant", "deu"), "activation_function": "gelu", "shaken": (5, 2.0)},
    ),
    "marian unscaled": (
        marian,
        {"scale_embedding": False, "activation_function": "relu", "d_model": 70, "shaken": (1, 5.0)},
    ),
    "marian with two vocabularies": (
        marian,
        {"separate": True, "activation_function": "silu", "shaken": (1, 2.0)},
    ),
    "marian untied": (
        marian,
        {"tie_word_embeddings": False, "activation_function": "gelu_new", "shaken": (1, 3.0)},
    ),
    "m2m": (m2m, {}),
    "m2m with even width": (
        m2m,
        {"d_model": 60, "activation_function": "gelu", "scale_embedding": False, "shaken": (1, 5.0)},
    ),
    "m2m untied": (m2m, {"tie_word_embeddings": False, "activation_function": "swish", "shaken": (1, 3.0)}),
    "nllb": (nllb, {}),
    "nllb legacy": (nllb, {"legacy": True, "algorithm": "unigram", "shaken": (1, 3.0)}),
    "bart": (bart, {}),
    "bart scaled, untied": (
        bart,
        {
            "scale_embedding": True,
            "tie_word_embeddings": False,
            "activation_function": "relu",
            "d_model": 60,
            "shaken": (1, 2.0),
        },
    ),
    "bart in two files": (bart, {"apart": True, "activation_function": "gelu_new", "shaken": (5, 3.0)}),
    "mbart 50": (mbart, {}),
    "mbart 50 scaled, untied": (
        mbart,
        {"scale_embedding": True, "tie_word_embeddings": False, "activation_function": "relu", "shaken": (2, 5.0)},
    ),
    "mbart": (
        mbart,
        {"of_50": False, "scale_embedding": True, "d_model": 60, "activation_function": "silu", "shaken": (3, 3.0)},
    ),
    "pegasus": (pegasus, {}),
    "pegasus unscaled, untied": (
        pegasus,
        {
            "scale_embedding": False,
            "tie_word_embeddings": False,
            "activation_function": "gelu",
            "d_model": 60,
            "shaken": (3, 3.0),
        },
    ),
    "t5": (t5, {"shaken": (1, 3.0)}),
    "t5 v1.1": (t5, {"feed_forward_proj": "gated-gelu", "untied": True, "tasks": False}),
    "t5 v1.1 saved by version 4": (
        t5,
        {"feed_forward_proj": "gated-gelu", "untied": True, "tasks": False, "of_version_4": True},
    ),
    "t5 gated by silu": (t5, {"feed_forward_proj": "gated-silu", "relative_attention_max_distance": 23}),
    "t5 gated by relu": (t5, {"feed_forward_proj": "gated-relu", "layer_norm_epsilon": 0.01}),
    "mt5": (t5, {"family": "mt5", "tasks": False, "untied": True}),
    "umt5 saved by version 4": (t5, {"family": "umt5", "tasks": False, "untied": True, "of_version_4": True}),
    "umt5 tied": (t5, {"family": "umt5", "tasks": False, "num_layers": 2}),
    "byt5": (
        t5,
        {"in_bytes": True, "tasks": False, "feed_forward_proj": "gated-gelu", "untied": True},
    ),
}
WITHIN = 1e-4


@pytest.fixture(scope="module", params=SHAPES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    make, fields = SHAPES[request.param]
    return make(tmp_path_factory.mktemp("family") / "model", **fields)


def forced_first_token(ours: Any) -> dict[str, int]:
    """The option of `generate` for the first token."""
    first = ours.languages.tokens_for().first
    return {"forced_bos_token_id": first[0]} if first else {}


@pytest.mark.slow(after=8)
def test_all_numbers_match_transformers(folder: Path) -> None:
    ours = translator(folder)
    for text in SENTENCES[::11]:
        result = ours.translate(text)
        source = [token.id for token in result.source_tokens]
        decoder_ids = [ours.model.config.start_id, *(token.id for token in result.target_tokens)][:-1]
        expected = reference_outputs(folder, source, decoder_ids)
        logits = ours.model(torch.tensor([source]), torch.tensor([decoder_ids]))[0]
        assert_close(logits, expected.pop("logits"), tolerance=WITHIN, of="logits")
        for kind, maps in expected.items():
            assert_close(torch.tensor(result.attention.of(kind)), maps, tolerance=WITHIN, of=kind)  # type: ignore[arg-type]


@pytest.mark.slow(after=8)
def test_greedy_and_beam_search_match_generate(folder: Path) -> None:
    ours = translator(folder)
    assert ours.generation_defaults.beam_size > 1
    for options, their_options in (({"beam_size": 1}, {"num_beams": 1, "early_stopping": False}), ({}, {})):
        results = ours.translate_batch(SENTENCES, **options)
        outputs = token_ids(results)
        expected = reference_ids(folder, token_ids(results, "source"), **forced_first_token(ours), **their_options)
        for text, actual_ids, expected_ids in zip(SENTENCES, outputs, expected, strict=True):
            assert actual_ids == expected_ids, text
        lengths = {len(ids) for ids in outputs}
        assert len(lengths) >= LENGTHS, "`python -m tests.model.families.shake NAME` finds another `shaken`."
