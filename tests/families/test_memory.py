"""Foreign weights are mapped, not read twice: the peak of memory while loading, in a process of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.families.folders import filled_vocabulary, marian

MEASURE = """
import gc, sys
from pathlib import Path
from model.checkpoint import load_checkpoint
from model.transformer import count_bytes

def status(field):  # bytes
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))

load_checkpoint(sys.argv[1])  # a small one first: what libraries take for themselves is not the model's
for folder in sys.argv[2:]:
    gc.collect()
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew; elsewhere it only looks higher
    except OSError:
        pass
    before = status("VmRSS")
    loaded = load_checkpoint(folder)
    print(count_bytes(loaded.model), status("VmHWM") - before)
    del loaded
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from Linux's /proc")
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
    # A fixed threshold makes malloc give large blocks back at once, so that one load does not use what another left.
    result = subprocess.run(
        [sys.executable, "-c", MEASURE, str(small), *map(str, folders.values())],
        check=True, capture_output=True, text=True, env={"MALLOC_MMAP_THRESHOLD_": "65536", "PYTHONPATH": "."},
    )  # fmt: skip
    measured = [[int(number) for number in line.split()] for line in result.stdout.splitlines()]
    assert len(measured) == 3
    for weights, peak in measured:
        assert weights > 90_000_000
        assert 0.9 * weights < peak < 1.4 * weights, f"{peak / weights:.2f}"
