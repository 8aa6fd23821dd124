"""Third-party weights are memory-mapped: peak memory while loading, measured in a separate process."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from headlight.model.translate.packed_model import COPY_SHARE, MIN_COPY_BUDGET, can_pack_float16, can_pack_float32
from tests.loading import measure_loading, measure_use, needs_proc
from tests.model.families.folders import fill_vocabulary, marian


def large_marian(folder: Path, rows: int = 20_011) -> Path:
    """About 90 MB of weights."""
    marian(
        folder, d_model=512, encoder_attention_heads=8, decoder_attention_heads=8, encoder_ffn_dim=2048,
        decoder_ffn_dim=2048, vocab_size=rows, decoder_vocab_size=rows, pad_token_id=rows - 1,
        decoder_start_token_id=rows - 1,
    )  # fmt: skip
    fill_vocabulary(folder, rows)
    return folder


@pytest.mark.slow
@needs_proc
def test_copies_of_a_large_model_take_a_limited_share_of_memory(tmp_path: Path) -> None:
    """Copies of the weights of a large model take a limited share of memory. A budget of 0 makes any model large."""
    small, large = marian(tmp_path / "small"), large_marian(tmp_path / "large")
    limited, default = measure_use(small, large, 0), measure_use(small, large, MIN_COPY_BUDGET)
    assert limited.weights == default.weights > 90_000_000
    drafts = limited.weights / 4  # in addition, at most one byte per weight
    assert 0 <= limited.copies <= COPY_SHARE * limited.weights + drafts
    assert limited.peak < 1.45 * limited.weights, (
        f"{limited.peak / limited.weights:.2f}"
    )  # includes 0.15 for the vocabulary and kernels
    if can_pack_float16() and can_pack_float32():
        assert limited.copies > 0.9 * COPY_SHARE * limited.weights
        assert default.copies > limited.copies  # all copies for steps, and the remaining budget for passes
    assert default.peak < 1.2 * (default.weights + default.copies)


@pytest.mark.slow
@needs_proc
def test_peak_memory_while_loading_is_little_above_the_weights(tmp_path: Path) -> None:
    small = marian(tmp_path / "small")
    folders = {name: tmp_path / name for name in ("safetensors", "zip", "old")}
    large = large_marian(folders["safetensors"])
    for name in ("zip", "old"):
        shutil.copytree(large, folders[name])
        tensors = load_file(large / "model.safetensors")
        (folders[name] / "model.safetensors").unlink()
        torch.save(tensors, folders[name] / "pytorch_model.bin", _use_new_zipfile_serialization=name == "zip")
    measured = measure_loading(small, list(folders.values()))
    assert len(measured) == 3
    for weights, peak, _ in measured:
        assert weights > 90_000_000
        assert 0.9 * weights < peak < 1.4 * weights, f"{peak / weights:.2f}"
