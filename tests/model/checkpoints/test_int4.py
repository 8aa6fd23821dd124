"""Matrices in four bits: rounding, reading, shards, damaged files, sizes."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from headlight.model.checkpoints import int4
from headlight.model.checkpoints.checkpoint import save_checkpoint
from headlight.model.checkpoints.storage import TensorStore, encode_tensor, write_weights
from headlight.model.errors import CheckpointError
from headlight.model.families.loading import load_checkpoint
from headlight.model.translate.translator import Translator
from headlight.viz.service.model_cards import read_card
from tests.tiny import SENTENCES, tiny_model, tokenizers

WEIGHTS = "model.safetensors"
MATRIX = "layers.0.wide.weight"
SHAPE = {"d_model": 64, "heads": 4, "head_width": 16, "d_ff": 96}


def make_matrix(rows: int = 11, columns: int = 96) -> Tensor:
    """Random values `[rows, columns]` in groups of different sizes: some have one large value, one has zeros."""
    torch.manual_seed(3)
    matrix = torch.randn(rows, columns) * torch.logspace(-4, 2, rows).unsqueeze(1)
    matrix[::2, 5] *= 9
    matrix[1, 32:64] = 0
    return matrix


def write(folder: Path, tensors: dict[str, Tensor], shard_bytes: int = 9_500_000) -> dict[str, Tensor]:
    """Store tensors in int4, and return what the files contain."""
    write_weights(folder, tensors, "int4", shard_bytes)
    return {name: tensor for path in folder.glob("*.safetensors") for name, tensor in load_file(path).items()}


def reference_scale(group: np.ndarray) -> np.float16:
    """The scale of 32 numbers, chosen by plain loops."""
    largest, best, least = np.float32(np.abs(group).max()) / np.float32(7), np.float16(0), math.inf
    for share in (1, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7):
        scale = np.float16(np.float32(share) * largest)
        rounded = [
            float(scale) * min(7, max(-7, round(float(value) / float(scale)))) if scale else 0 for value in group
        ]
        error = sum((value - float(exact)) ** 2 for value, exact in zip(rounded, group, strict=True))
        if error < least:
            best, least = scale, error
    return best


def reference_values(packed: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """The float32 values of bytes [row, column / 2] and scales [row, group], by plain loops."""
    rows, columns = packed.shape[0], 2 * packed.shape[1]
    values = np.zeros((rows, columns), dtype=np.float32)
    for row in range(rows):
        for column in range(columns):
            byte = int(packed[row, column // 2])
            number = byte // 16 if column % 2 else byte % 16
            values[row, column] = np.float32(number - 8) * np.float32(scales[row, column // 32])
    return values


# ------------------------------------------------------------ values


@pytest.mark.parametrize("factor", [1, 0.003])  # float16 rounds scales of small numbers so much that the error shows it
def test_each_group_has_the_best_of_seven_scales(factor: float) -> None:
    matrix = factor * make_matrix()
    packed = int4.pack(matrix)
    assert packed is not None
    groups = matrix.reshape(-1, 32).numpy()
    expected = np.array([reference_scale(group) for group in groups])
    np.testing.assert_array_equal(packed[1].flatten().numpy(), expected)
    largest = np.float16(np.abs(groups).max(axis=1) / np.float32(7))
    shares = set(np.round(expected[expected > 0] / largest[expected > 0].astype(np.float64), 2))
    assert len(shares) > 3  # the choice matters


def test_manual_group() -> None:
    steps = [7, -7, 1, 0, 3, -2, *range(-6, 7)]
    row = torch.tensor([*steps, *[0] * (32 - len(steps))]) * 0.5
    values, scale = encode_tensor(MATRIX, row.unsqueeze(0), "int4")
    assert scale is not None
    assert (scale.dtype, scale.tolist()) == (torch.float16, [[0.5]])
    assert (values.dtype, values.shape) == (torch.uint8, (1, 16))
    assert values[0, :3].tolist() == [15 + 16 * 1, 9 + 16 * 8, 11 + 16 * 6]


def test_reading_matches_plain_reference(tmp_path: Path) -> None:
    stored = write(tmp_path, {MATRIX: make_matrix()})
    expected = reference_values(stored[MATRIX].numpy(), stored[f"{MATRIX}.scale"].numpy())
    read = TensorStore(tmp_path).read(MATRIX)
    assert read.dtype == torch.float32
    np.testing.assert_array_equal(read.numpy(), expected)


def test_every_byte_is_read(tmp_path: Path) -> None:
    packed = torch.arange(256, dtype=torch.int16).to(torch.uint8).reshape(4, 64)
    scales = torch.tensor([[1.0, 0.1, 6e-8, 65504.0]] * 4, dtype=torch.float16)
    save_file({MATRIX: packed, f"{MATRIX}.scale": scales}, tmp_path / WEIGHTS)
    expected = reference_values(packed.numpy(), scales.numpy())
    np.testing.assert_array_equal(TensorStore(tmp_path).read(MATRIX).numpy(), expected)
    assert len(np.unique(expected[:, :32])) == 16


def test_error_is_at_most_that_of_plain_rounding(tmp_path: Path) -> None:
    matrix = make_matrix(64, 256)
    write(tmp_path, {MATRIX: matrix})
    error = (TensorStore(tmp_path).read(MATRIX) - matrix).reshape(-1, 32)
    groups = matrix.reshape(-1, 32)
    scale = (groups.abs().amax(dim=1, keepdim=True) / 7).half().float()
    plain = (groups / scale.where(scale > 0, 1)).round().clamp(-7, 7) * scale - groups
    assert bool((error.square().sum(dim=1) <= plain.square().sum(dim=1) + 1e-12).all())
    assert error.square().sum() < 0.98 * plain.square().sum()
    assert bool((error.abs() <= 0.5001 * scale + 0.3 * groups.abs().amax(dim=1, keepdim=True)).all())


def test_saving_again_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    write(tmp_path, {MATRIX: make_matrix()})
    write(tmp_path / "again", {MATRIX: TensorStore(tmp_path).read(MATRIX)})
    assert (tmp_path / "again" / WEIGHTS).read_bytes() == (tmp_path / WEIGHTS).read_bytes()


# ------------------------------------------------------------ which tensors


@pytest.mark.parametrize(
    ("name", "tensor", "dtypes"),
    [
        (MATRIX, make_matrix(), ("U8", "F16")),
        ("decoder.layers.1.self_attention.output.weight", make_matrix(), ("U8", "F16")),
        ("layers.0.norm.weight", torch.randn(64), ("F32", None)),
        ("encoder.embedding.table.weight", make_matrix(), ("I8", "F32")),
        ("embedding.table.weight", make_matrix(), ("I8", "F32")),
        ("encoder.embedding.positions.table", make_matrix(), ("I8", "F32")),
        ("decoder.output.words.weight", make_matrix(), ("I8", "F32")),
        ("verdict.weight", make_matrix(), ("I8", "F32")),
        (MATRIX, make_matrix(7, 48), ("I8", "F32")),
        (MATRIX, torch.randn(3, 5, 32), ("I8", "F32")),
        (MATRIX, 1e6 * make_matrix(), ("I8", "F32")),  # scales that float16 lacks
    ],
)
def test_storage_of_tensor(tmp_path: Path, name: str, tensor: Tensor, dtypes: tuple[str, str | None]) -> None:
    kinds = {torch.uint8: "U8", torch.int8: "I8", torch.float16: "F16", torch.float32: "F32"}
    stored = write(tmp_path, {name: tensor})
    assert kinds[stored[name].dtype] == dtypes[0]
    assert (kinds[stored[f"{name}.scale"].dtype] if dtypes[1] else None) == dtypes[1]
    assert len(stored) == 1 + (dtypes[1] is not None)
    store = TensorStore(tmp_path)
    assert store.shape(name) == tuple(tensor.shape)
    torch.testing.assert_close(store.read(name), tensor, atol=float(tensor.abs().max()) * 0.31, rtol=0)
    assert not store.unread


def test_comparison_reads_values_and_scales(tmp_path: Path) -> None:
    matrix = make_matrix()
    other = matrix.clone()
    other[10] *= 2  # the same numbers, other scales
    names = ["a.weight", "b.weight", "c.weight"]
    write(tmp_path, dict(zip(names, (matrix, matrix.clone(), other), strict=True)))
    store = TensorStore(tmp_path)
    assert store.are_equal(names[:2])
    assert not store.are_equal(names)
    assert len(store.unread) == 6


# ------------------------------------------------------------ shards


@pytest.mark.parametrize("limit", [1_000, 3_000])
def test_shards_read_like_one_file(tmp_path: Path, limit: int) -> None:
    matrix = make_matrix(300, 64)
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    write(tmp_path / "whole", {MATRIX: matrix})
    stored = write(tmp_path / "parts", {MATRIX: matrix}, limit)
    assert {f"{MATRIX}.rows.0", f"{MATRIX}.rows.1"} < set(stored)
    assert (f"{MATRIX}.scale.rows.1" in stored) == (limit == 1_000)
    assert all(path.stat().st_size <= limit for path in (tmp_path / "parts").glob("*.safetensors"))
    store = TensorStore(tmp_path / "parts")
    assert store.shape(MATRIX) == (300, 64)
    assert torch.equal(store.read(MATRIX), TensorStore(tmp_path / "whole").read(MATRIX))
    assert not store.unread


def test_large_matrix_is_read_in_several_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = make_matrix(300, 64)
    write(tmp_path, {MATRIX: matrix})
    whole = TensorStore(tmp_path).read(MATRIX)
    monkeypatch.setattr("headlight.model.checkpoints.storage.REMAP_BYTES", 7 * 64 * 4)  # seven rows
    assert torch.equal(TensorStore(tmp_path).read(MATRIX), whole)


# ------------------------------------------------------------ models


@pytest.mark.parametrize("changes", [{}, {"tie_output": True, "final_logits_bias": False}])
def test_model_is_saved_smaller_and_translates(tmp_path: Path, changes: dict[str, Any]) -> None:
    model = tiny_model(**SHAPE, **changes)
    sizes = {}
    for storage in ("float16", "int8", "int4"):
        save_checkpoint(tmp_path / storage, model, *tokenizers(), storage=storage)  # type: ignore[arg-type]
        sizes[storage] = sum(tensor.nbytes for tensor in load_file(tmp_path / storage / WEIGHTS).values())
    loaded = load_checkpoint(tmp_path / "int4").model
    tables = ("encoder.embedding.table.weight", "decoder.embedding.table.weight", "decoder.output.words.weight")
    unique = {id(model.get_parameter(name)): model.get_parameter(name) for name in tables}.values()
    matrices = sum(parameter.numel() for parameter in model.parameters() if parameter.ndim > 1)
    halved = matrices - sum(table.numel() for table in unique)  # of one byte to 4 bits and 16 / 32 bits of scale
    rows = sum(len(parameter) for parameter in model.parameters() if parameter.ndim > 1) - sum(map(len, unique))
    assert sizes["int8"] - sizes["int4"] == halved // 2 - halved // 16 + 4 * rows
    assert sizes["int4"] < 0.8 * sizes["int8"] < sizes["float16"]
    exact = model.state_dict()
    for name, values in loaded.state_dict().items():
        error = (values - exact[name]).norm() / exact[name].norm()
        assert error == 0 if values.ndim == 1 else 0 < error < (0.01 if name in tables else 0.15), name
    assert read_card(tmp_path / "int4").parameters == model.parameter_count()
    translations = [Translator.load(tmp_path / "int4", "cpu").translate(text).text for text in SENTENCES[:2]]
    assert translations == [Translator(loaded, *tokenizers(), name="").translate(text).text for text in SENTENCES[:2]]


def test_parameters_in_shards_are_counted(tmp_path: Path) -> None:
    model = tiny_model(**SHAPE)
    for storage in ("int8", "int4"):
        save_checkpoint(tmp_path / "m", model, *tokenizers(), storage=storage, shard_bytes=3_000)  # type: ignore[arg-type]
        assert read_card(tmp_path / "m").parameters == model.parameter_count()


# ------------------------------------------------------------ errors

NO_SCALE = (
    rf"{MATRIX} is stored as int4, but {MATRIX}.scale does not give one number for each 32 columns of a row. Save"
)


def set_scale(change: Callable[[Tensor], Tensor]) -> Callable[[dict[str, Tensor]], Any]:
    return lambda tensors: tensors.update({f"{MATRIX}.scale": change(tensors[f"{MATRIX}.scale"]).contiguous()})


def set_bytes(change: Callable[[Tensor], Tensor]) -> Callable[[dict[str, Tensor]], Any]:
    return lambda tensors: tensors.update({MATRIX: change(tensors[MATRIX]).contiguous()})


DAMAGES: dict[str, tuple[Callable[[dict[str, Tensor]], Any], str]] = {
    "no scale": (lambda tensors: tensors.pop(f"{MATRIX}.scale"), NO_SCALE),
    "a scale for each row": (set_scale(lambda scale: scale[:, 0]), NO_SCALE),
    "too few rows": (set_scale(lambda scale: scale[:-1]), NO_SCALE),
    "too few groups": (set_scale(lambda scale: scale[:, :-1]), NO_SCALE),
    "turned": (set_scale(lambda scale: scale.T), NO_SCALE),
    "one number": (set_scale(lambda scale: scale[0, 0]), NO_SCALE),
    "a scale in int8": (set_scale(lambda scale: scale.char()), NO_SCALE),
    "a scale in int4": (set_scale(lambda scale: torch.zeros(11, 3, dtype=torch.uint8)), NO_SCALE),
    "a scale of integers": (set_scale(lambda scale: scale.long()), rf"{MATRIX}.scale is stored as I64, but only F64"),
    "half a group": (set_bytes(lambda packed: packed[:, :-8]), NO_SCALE),
    "a vector": (set_bytes(lambda packed: packed[0]), NO_SCALE),
    "a number": (set_bytes(lambda packed: packed[0, 0]), NO_SCALE),
    "three axes": (set_bytes(lambda packed: packed.reshape(11, 3, 16)), NO_SCALE),
    "parts of two types": (
        lambda tensors: tensors.update(
            {f"{MATRIX}.rows.0": tensors.pop(MATRIX), f"{MATRIX}.rows.1": torch.zeros(2, 96)}
        ),
        rf"the parts of {MATRIX} do not fit together",
    ),
    "numbers as parts": (
        lambda tensors: (
            tensors.update({f"{MATRIX}.rows.{part}": tensors[MATRIX][0, part].clone() for part in (0, 1)})
            or tensors.pop(MATRIX)
        ),
        rf"the parts of {MATRIX} do not fit together",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_file_error_explains_cause(tmp_path: Path, name: str) -> None:
    damage, message = DAMAGES[name]
    tensors = write(tmp_path, {MATRIX: make_matrix()})
    damage(tensors)
    save_file(tensors, tmp_path / WEIGHTS)
    with pytest.raises(CheckpointError, match=message) as error_info:
        TensorStore(tmp_path).read(MATRIX)
    assert str(error_info.value).startswith(str(tmp_path))


def test_scale_that_is_not_a_number_is_detected(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "m", tiny_model(**SHAPE), *tokenizers(), storage="int4")
    tensors = load_file(tmp_path / "m" / WEIGHTS)
    name = "encoder.layers.0.feed_forward.wide.weight"
    tensors[f"{name}.scale"][5, 1] = math.nan
    save_file(tensors, tmp_path / "m" / WEIGHTS)
    with pytest.raises(CheckpointError, match=rf"{name} contains NaN or infinite numbers"):
        load_checkpoint(tmp_path / "m", verify=False)
