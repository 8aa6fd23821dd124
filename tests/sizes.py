"""Sizes for tests: distinct primes, so that no two axes can be swapped unnoticed."""

from __future__ import annotations

from typing import Any

from headlight.model.core.config import TransformerConfig

ENCODER_LAYERS = 2
DECODER_LAYERS = 3
BATCH = 5
HEADS = 7
HEAD_WIDTH = 11
TARGET = QUERIES = 13
SOURCE = KEYS = 17
D_FF = 19
POSITION_WIDTH = 23
SOURCE_VOCABULARY = 29
TARGET_VOCABULARY = 31
D_MODEL = HEADS * HEAD_WIDTH  # PyTorch's modules require this head width


def small_config(**fields: Any) -> TransformerConfig:
    """A configuration of these sizes, without dropout."""
    defaults: dict[str, Any] = {
        "source_vocabulary": SOURCE_VOCABULARY,
        "target_vocabulary": TARGET_VOCABULARY,
        "d_model": D_MODEL,
        "heads": HEADS,
        "d_ff": D_FF,
        "encoder_layers": ENCODER_LAYERS,
        "decoder_layers": DECODER_LAYERS,
        "dropout": 0.0,
    }
    return TransformerConfig(**(defaults | fields))


def tiny_config(**fields: Any) -> TransformerConfig:
    """One layer each side, for tests that run a model thousands of times; its heads are wider than d_model / heads."""
    tiny = {"d_model": 5, "heads": 3, "head_width": 2, "d_ff": 7, "encoder_layers": 1, "decoder_layers": 1}
    return small_config(**(tiny | fields))
