"""bfloat16 on a CPU is selected if it is measured to be faster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from headlight.model.training.processes import bfloat16_is_faster, measure_matmul_seconds

CPU = torch.device("cpu")
CHECKS = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")


@pytest.fixture(autouse=True)
def clear_cache() -> Iterator[None]:
    bfloat16_is_faster.cache_clear()
    yield
    bfloat16_is_faster.cache_clear()


@pytest.mark.parametrize(("seconds", "expected"), [(0.5, True), (0.9, False), (1.9, False)])
def test_bfloat16_is_selected_if_clearly_faster(
    monkeypatch: pytest.MonkeyPatch, seconds: float, expected: bool
) -> None:
    measured_seconds = {torch.bfloat16: seconds, torch.float32: 1.0}
    monkeypatch.setattr("headlight.model.training.processes.measure_matmul_seconds", measured_seconds.__getitem__)
    monkeypatch.setattr(torch.cpu, CHECKS[0], lambda: True, raising=False)
    assert bfloat16_is_faster(CPU) is expected


def test_unsupported_processor_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headlight.model.training.processes.measure_matmul_seconds", None)
    for name in CHECKS:
        monkeypatch.setattr(torch.cpu, name, lambda: False, raising=False)
    assert bfloat16_is_faster(CPU) is False


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_matmul_is_timed_in_each_type(dtype: torch.dtype) -> None:
    assert measure_matmul_seconds(dtype) > 0
