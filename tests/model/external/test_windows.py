"""Layers of Swin are maps of the whole image, with the weights of each window at the patches that it covers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from transformers.models.swin.modeling_swin import window_partition

import headlight
from headlight.errors import RecordingError
from headlight.model.external import windows
from headlight.model.external.windows import BlockWindows
from tests.model.external.test_runs import plain_call, remarks

SIZES: dict[str, Any] = {"embed_dim": 12, "num_heads": [2, 3], "window_size": 4, "patch_size": 4}


@cache
def swin(kind: str, depth: int, pixels: int = 32) -> Any:
    """Two stages of `depth` blocks each; transformers returns the weights of the last block of a stage."""
    config = getattr(transformers, f"{kind}Config")(**SIZES, depths=[depth, depth], image_size=pixels)
    torch.manual_seed(5)
    return getattr(transformers, f"{kind}Model")(config).eval()


def plain_map(weights: np.ndarray, rows: int, columns: int, size: int, shift: int) -> np.ndarray:
    """The map of one head from the weights `[window, n, n]`, as Swin's own functions place the patches."""
    height, width = (-(-length // size) * size for length in (rows, columns))
    places = torch.full((1, height, width, 1), -1)
    places[0, :rows, :columns, 0] = torch.arange(rows * columns).reshape(rows, columns)
    shifted = torch.roll(places, shifts=(-shift, -shift), dims=(1, 2))
    result = np.zeros((rows * columns, rows * columns), dtype=np.float32)
    for window, cells in zip(weights, window_partition(shifted, size).reshape(-1, size * size).tolist(), strict=True):
        for query, row in enumerate(cells):
            for key, column in enumerate(cells):
                if row >= 0 and column >= 0:
                    result[row, column] = window[query, key]
    return result


@pytest.mark.parametrize("kind", ["Swin", "Swinv2", "DonutSwin"])
@pytest.mark.parametrize(("depth", "shift"), [(1, 0), (2, 2)])
def test_windows_are_at_their_patches(kind: str, depth: int, shift: int) -> None:
    model, pixels = swin(kind, depth), torch.rand(1, 3, 32, 32)
    recording = headlight.record(model, pixel_values=pixels)
    assert recording.of("self").numbers == (depth - 1,)
    assert [token.text for token in recording.source] == [
        f"{row}·{column}" for row in range(1, 9) for column in range(1, 9)
    ]
    layer = plain_call(model, pixel_values=pixels).attentions[0].numpy()  # [window, head, n, n]
    for head in range(2):
        np.testing.assert_allclose(
            recording.attention.of("self")[0, head], plain_map(layer[:, head], 8, 8, 4, shift), atol=1e-6
        )
    remark = remarks(recording)["shifted_windows" if shift else "windows"]
    assert remark == {"layers": str(depth), "size": 4, "shift": shift}
    picture = recording.picture
    assert picture is not None
    assert (picture.rows, picture.columns, picture.patch_indices) == (8, 8, tuple(range(64)))


def test_a_patch_acts_on_the_rows_that_attend_to_it() -> None:
    """The gradient of a block's output with respect to its normalised input is zero outside of the window."""
    model = swin("Swin", 2)
    pixels = torch.rand(1, 3, 32, 32)
    allowed = headlight.record(model, pixel_values=pixels).of("self").allowed
    block = model.encoder.layers[0].blocks[1]
    inputs = torch.rand(1, 64, 12, requires_grad=True)
    for patch in (0, 27, 63):
        (gradient,) = torch.autograd.grad(block(inputs, (8, 8))[0][0, patch].sum(), inputs)
        np.testing.assert_array_equal((gradient[0].abs() > 1e-12).any(-1).numpy(), allowed[patch])


def test_stages_are_shown_by_their_number() -> None:
    model, pixels = swin("Swin", 2), torch.rand(1, 3, 32, 32)
    recording = headlight.record(model, pixel_values=pixels, layers=[3])
    last = plain_call(model, pixel_values=pixels).attentions[1]
    assert last.shape == (1, 3, 16, 16)  # a window as large as the stage is not shifted
    np.testing.assert_allclose(recording.attention.of("self")[0], last[0].numpy(), atol=1e-6)
    assert set(remarks(recording)) == {"layers"}
    assert recording.picture is not None
    assert (recording.picture.rows, recording.picture.columns) == (4, 4)
    with pytest.raises(RecordingError, match=r"64 × 64, but layer 4 has 3 heads of 16 × 16.*layers=\[1\]"):
        headlight.record(model, pixel_values=pixels, layers=[1, 3])


def test_padded_windows_lose_the_weights_of_the_padding() -> None:
    model, pixels = swin("Swin", 2, 40), torch.rand(1, 3, 36, 40)
    recording = headlight.record(model, pixel_values=pixels)  # 9 × 10 patches are padded to 12 × 12
    layer = plain_call(model, pixel_values=pixels).attentions[0].numpy()
    np.testing.assert_allclose(recording.attention.of("self")[0, 1], plain_map(layer[:, 1], 9, 10, 4, 2), atol=1e-6)
    assert remarks(recording)["sums"]["high"] <= 1
    second = headlight.record(model, pixel_values=pixels, layers=[3])  # 5 × 5 patches of 8 × 8 pixels
    assert second.picture is not None
    assert (second.picture.rows, second.picture.columns, second.picture.pixels.shape) == (5, 5, (40, 40, 3))


def test_large_stages_are_left_out_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model, pixels = swin("Swin", 2), torch.rand(1, 3, 32, 32)
    monkeypatch.setattr(windows, "MAX_DEFAULT_PATCHES", 63)
    assert headlight.record(model, pixel_values=pixels).of("self").numbers == (3,)
    monkeypatch.setattr(windows, "MAX_DEFAULT_PATCHES", 15)
    assert headlight.record(model, pixel_values=pixels).of("self").numbers == (3,)
    monkeypatch.setattr(windows, "MAX_PATCHES", 63)
    with pytest.raises(RecordingError, match=r"8 × 8 patches, which are 64 rows and columns.*Name later layers"):
        headlight.record(model, pixel_values=pixels, layers=[1])


def test_decoder_of_donut_reads_the_last_stage() -> None:
    config = transformers.BertConfig(
        vocab_size=12, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=7,
        is_decoder=True, add_cross_attention=True,
    )  # fmt: skip
    torch.manual_seed(7)
    model = transformers.VisionEncoderDecoderModel(
        encoder=swin("DonutSwin", 2), decoder=transformers.BertLMHeadModel(config)
    ).eval()
    model.config.decoder_start_token_id = 2
    pixels = torch.rand(1, 3, 32, 32)
    recording = headlight.record(model, pixel_values=pixels, decoder_input_ids=torch.tensor([[2, 3, 4]]))
    assert recording.kinds == ("encoder", "decoder", "cross")
    assert recording.of("encoder").numbers == (3,)
    assert recording.of("cross").shape == (2, 3, 3, 16)
    assert recording.picture is not None
    assert (recording.picture.rows, recording.picture.columns) == (4, 4)


def test_several_images_are_read_one_by_one() -> None:
    model, pixels = swin("Swin", 2), torch.rand(2, 3, 32, 32)
    both, first = (headlight.record(model, pixel_values=values) for values in (pixels, pixels[:1]))
    np.testing.assert_allclose(both.attention.of("self"), first.attention.of("self"), atol=1e-6)
    assert remarks(both)["batch"] == {"number": 1, "count": 2}


def test_tokens_of_shifted_windows_wrap_around() -> None:
    cells = BlockWindows(4, 4, 2, 1).tokens()
    assert cells.tolist() == [[5, 6, 9, 10], [7, 4, 11, 8], [13, 14, 1, 2], [15, 12, 3, 0]]
