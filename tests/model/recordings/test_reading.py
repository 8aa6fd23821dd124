"""Arrays of any library and shape are recorded unchanged."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given, settings

from headlight.model.recordings.builder import recording_from_arrays
from headlight.model.recordings.inspection import allowed_cells, is_causal, trim_padding
from headlight.model.recordings.layers import parse_layers
from headlight.model.recordings.recording import Recording, RecordingError


def softmax(shape: tuple[int, ...], seed: int = 0, mask: np.ndarray | None = None) -> np.ndarray:
    scores = np.random.default_rng(seed).normal(size=shape)
    weights = np.exp(scores) * (1 if mask is None else mask)
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)


class OnlyDlpack:
    """An array with only the DLPack protocol."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class OnlyArray:
    """An array with only `__array__`, as in JAX."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.dtype = array.dtype

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.array if dtype is None else self.array.astype(dtype)


FORMS: dict[str, Any] = {
    "numpy": lambda array: array,
    "double": lambda array: array.astype(np.float64),
    "torch": torch.from_numpy,
    "graph": lambda array: torch.from_numpy(array).requires_grad_(),
    "list": lambda array: array.tolist(),
    "array": OnlyArray,
    "dlpack": OnlyDlpack,
}


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=15, deadline=None)
@given(st.tuples(*(st.integers(1, high) for high in (3, 3, 5, 7))), st.sampled_from(["one", "layers", "batch", "both"]))
def test_every_array_type_and_layout_gives_equal_maps(form: str, size: tuple[int, ...], shape: str) -> None:
    layers, heads, rows, columns = size
    weights = softmax((layers, heads, rows, columns))
    batched = np.stack([weights, softmax(size, 1)], axis=1)  # [layer, batch, head, row, column]
    convert = FORMS[form]
    arrays = {
        "one": lambda: convert(weights),
        "layers": lambda: [convert(layer) for layer in weights],
        "batch": lambda: convert(batched),
        "both": lambda: tuple(convert(layer) for layer in batched),
    }[shape]()
    recording = recording_from_arrays({"cross": arrays})
    assert recording.of("cross").shape == size
    np.testing.assert_array_equal(recording.attention.cross, weights)
    words = [remark.word for remark in recording.remarks]
    assert words == (["batch"] if shape in ("batch", "both") else [])
    if shape in ("batch", "both"):
        second = recording_from_arrays({"cross": arrays}, batch=1)
        np.testing.assert_array_equal(second.attention.cross, softmax(size, 1))
        assert second.remarks == ()


def test_half_precision_is_accepted_without_remark_on_sums() -> None:
    weights = softmax((2, 3, 5, 7))
    for kind in (torch.bfloat16, torch.float16):
        stacked = torch.from_numpy(weights).to(kind)
        for form in (stacked, list(stacked)):
            recording = recording_from_arrays({"cross": form})
            np.testing.assert_array_equal(recording.attention.cross, stacked.float().numpy())
            assert recording.remarks == ()


def test_grouped_heads_are_flattened() -> None:
    weights = softmax((1, 2, 3, 5, 7))  # [batch, group, head, row, column]
    recording = recording_from_arrays({"cross": [weights, weights]})
    assert recording.of("cross").shape == (2, 6, 5, 7)
    np.testing.assert_array_equal(recording.attention.cross[1, 4], weights[0, 1, 1])


def test_recording_copies_its_input() -> None:
    weights = softmax((1, 1, 3, 3))
    before = weights.copy()
    recording = recording_from_arrays({"self": weights})
    weights[:] = 0
    np.testing.assert_array_equal(recording.attention.of("self"), before)


def test_selected_layers_keep_their_numbers() -> None:
    weights = softmax((5, 2, 3, 3))
    recording = recording_from_arrays({"self": [None, *weights[1:]]}, layers=[4, 1])
    assert recording.of("self").numbers == (4, 1)
    for number in (4, 1):
        np.testing.assert_array_equal(recording.attention_map("self", number, 1).weights, weights[number, 1])
        assert recording.attention_map("self", number, 1).layer == number
    with pytest.raises(RecordingError, match="layer must be one of 4, 1, but 0 was given"):
        recording.attention_map("self", 0, 1)
    assert [remark.word for remark in recording.remarks] == ["layers"]


def test_select_returns_means_and_maxima() -> None:
    weights = softmax((3, 5, 2, 7))
    maps = recording_from_arrays({"cross": weights}).of("cross")
    np.testing.assert_allclose(maps.select(1, "mean"), weights[1].mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(maps.select("mean", 2), weights[:, 2].mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(maps.select("mean", "mean"), weights.mean(axis=(0, 1)), rtol=1e-6)
    np.testing.assert_array_equal(maps.select("mean", "max"), weights.max(axis=(0, 1)))


INVALID: dict[str, tuple[Any, str]] = {
    "scores": (np.full((1, 1, 2, 2), -3.0), "after the softmax"),
    "too large": (np.full((1, 1, 2, 2), 8.0), "after the softmax"),
    "no numbers": (np.full((1, 1, 2, 2), np.nan), "NaN or infinite"),
    "texts": (np.array([[["a"]]]), "real numbers"),
    "nothing": ([], "empty list"),
    "fused": ([None, None], "attn_implementation='eager'"),
    "one axis": (np.ones(3), "shape (3,)"),
    "empty": ([np.ones((2, 0, 0))], "shape (2, 0, 0)"),
    "different layers": ([softmax((2, 3, 3)), softmax((4, 2, 2))], "such as layers=[0]"),
    "an object": (object(), "type object is no array of numbers"),
    "ragged": ([[[0.5, 0.5], [1.0]]], "array of numbers"),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_attention_raises(name: str) -> None:
    arrays, message = INVALID[name]
    with pytest.raises(RecordingError) as error_info:
        recording_from_arrays({"self": arrays})
    assert message in str(error_info.value)


def test_inconsistent_sizes_raise() -> None:
    with pytest.raises(RecordingError, match="3 names in source, 5 columns of cross"):
        recording_from_arrays({"cross": softmax((1, 1, 2, 5))}, source=["a", "b", "c"])
    with pytest.raises(RecordingError, match="2 rows of self, 5 columns of self"):
        recording_from_arrays({"self": softmax((1, 1, 2, 5))})
    with pytest.raises(RecordingError, match="for models with one sequence"):
        recording_from_arrays({"self": softmax((1, 1, 2, 2)), "cross": softmax((1, 1, 2, 2))})
    with pytest.raises(RecordingError, match="batch=2 does not exist"):
        recording_from_arrays({"self": [softmax((2, 1, 2, 2))]}, batch=2)
    with pytest.raises(RecordingError, match=r"numbered from 0 to 1, .* names one that does not exist"):
        recording_from_arrays({"self": softmax((2, 1, 2, 2))}, layers=[2])
    with pytest.raises(RecordingError, match="layers must be a list of numbers such as"):
        recording_from_arrays({"self": softmax((2, 1, 2, 2))}, layers=1)  # type: ignore[arg-type]
    with pytest.raises(RecordingError, match="target= names the target tokens, but attention of the kind self has"):
        recording_from_arrays({"self": softmax((2, 1, 2, 2))}, target=["a", "b"])


def test_rows_that_do_not_sum_to_one_are_reported() -> None:
    weights = softmax((2, 3, 5, 7))
    weights[1, 2, 3] *= 0.5
    weights[0, 0, 0] = 0
    (remark,) = recording_from_arrays({"cross": weights}).remarks
    assert (remark.word, dict(remark.values)) == ("sums", {"rows": 2, "low": 0.0, "high": 0.5, "kind": "cross"})


def band(size: int, reach: int) -> np.ndarray:
    return np.tri(size) * (1 - np.tri(size, k=-reach))


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 9), st.integers(1, 3), st.integers(0, 3), st.booleans())
def test_masks_and_padding_are_inferred(size: int, heads: int, padding: int, causal: bool) -> None:
    padded_size = size + padding
    mask = np.zeros((padded_size, padded_size))
    mask[:, :size] = np.tri(padded_size, size) if causal else 1
    recording = recording_from_arrays({"self": softmax((2, heads, padded_size, padded_size), mask=mask)})
    assert recording.of("self").shape == (2, heads, size, size)
    np.testing.assert_array_equal(recording.of("self").allowed, np.tri(size) if causal else np.ones((size, size)))
    assert [remark.values["count"] for remark in recording.remarks] == ([padding] if padding else [])
    assert len(recording.source) == size


@settings(max_examples=30, deadline=None)
@given(st.integers(3, 7), st.integers(1, 4))
def test_left_padding_of_causal_maps_is_inferred(size: int, padding: int) -> None:
    padded_size = size + padding
    mask = np.tri(padded_size)
    mask[padding:, :padding] = 0
    mask[:padding] = 1  # frameworks give fully masked rows uniform weights
    recording = recording_from_arrays({"self": softmax((1, 2, padded_size, padded_size), mask=mask)})
    assert recording.of("self").shape == (1, 2, size, size)
    np.testing.assert_array_equal(recording.of("self").allowed, np.tri(size))


def test_sliding_windows_are_masks_and_not_padding() -> None:
    np.testing.assert_array_equal(allowed_cells(band(7, 3) > 0, square=True), band(7, 3))
    ahead = np.tri(5).T > 0
    assert not is_causal(ahead)
    assert trim_padding(ahead, square=True) == slice(0, 5)


def test_padded_source_is_trimmed_in_encoder_and_cross_maps() -> None:
    encoder, cross = softmax((1, 1, 5, 5), mask=np.arange(5) < 3), softmax((1, 1, 2, 5), mask=np.arange(5) < 3)
    recording = recording_from_arrays({"encoder": encoder, "cross": cross}, source=["a", "b", "c", "<pad>", "<pad>"])
    assert [token.text for token in recording.source] == ["a", "b", "c"]
    np.testing.assert_array_equal(recording.attention.cross, cross[..., :3])
    np.testing.assert_array_equal(recording.attention.encoder, encoder[..., :3, :3])


def test_large_arrays_are_not_copied() -> None:
    """48 layers of 48 heads over 512 tokens are 604 million weights."""
    row = softmax((512, 512))
    large = np.broadcast_to(row, (48, 48, 512, 512))
    recording: Recording = recording_from_arrays({"self": large[:2]})
    assert all(each.base is not None for each in parse_layers(large, label="self").arrays)
    np.testing.assert_array_equal(recording.of("self").select(1, 47), row)
