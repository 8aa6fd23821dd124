"""The sentence and forced translation of these tests, and options of a small model with different layers."""

from __future__ import annotations

from typing import Any

from tests.tiny import SENTENCES

TEXT, TARGET = SENTENCES[0], "The dog is here."  # at least five tokens
RMS_RELATIVE: dict[str, Any] = {
    "norm": "rms",
    "norm_first": True,
    "final_norm": True,
    "positions": "relative",
    "attention_bias": False,
    "feed_forward_bias": False,
    "scale_scores": False,
}
