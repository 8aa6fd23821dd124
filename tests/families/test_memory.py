"""Foreign weights are mapped, not read twice: the peak of memory while loading, in a process of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file

from tests.families.folders import filled_vocabulary, marian
from tests.loading import measure_loading, needs_proc


@needs_proc
def test_loading_peaks_little_above_the_weights_in_use(tmp_path: Path) -> None:
    small = marian(tmp_path / "small")
    folders = {name: tmp_path / name for name in ("safetensors", "zip", "old")}
    large = folders["safetensors"]
    rows = 20_011
    marian(
        large, d_model=512, encoder_attention_heads=8, decoder_attention_heads=8, encoder_ffn_dim=2048,
        decoder_ffn_dim=2048, vocab_size=rows, decoder_vocab_size=rows, pad_token_id=rows - 1,
        decoder_start_token_id=rows - 1,
    )  # fmt: skip
    filled_vocabulary(large, rows)
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
