from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest
import torch

from headlight.model.errors import DeviceError
from headlight.model.translate.device import DeviceChoice, choose_device, in_smaller_batches, is_out_of_memory


class Machine:
    """Simulates the devices and the environment variables of a machine."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.patch = patch
        for name in ("HEADLIGHT_DEVICE", "HEADLIGHT_DTYPE"):
            patch.delenv(name, raising=False)
        self.set_devices(cuda=0)
        patch.setattr(torch.version, "hip", None)

    def set_devices(
        self, *, cuda: int = 0, capability: tuple[int, int] = (9, 0), mps: bool = False, macos: int = 14
    ) -> None:
        self.patch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
        self.patch.setattr(torch.cuda, "device_count", lambda: cuda)
        self.patch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA H200")
        self.patch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
        self.patch.setattr(torch.cuda, "empty_cache", lambda: None)
        self.patch.setattr(torch.version, "cuda", "13.0" if cuda else None)
        self.patch.setattr(torch.backends.mps, "is_available", lambda: mps)
        self.patch.setattr(torch.backends.mps, "is_macos_or_newer", lambda major, minor: macos >= major)

    def set_environment(self, *, device: str | None = None, dtype: str | None = None) -> None:
        for name, value in (("HEADLIGHT_DEVICE", device), ("HEADLIGHT_DTYPE", dtype)):
            if value is not None:
                self.patch.setenv(name, value)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_cpu_is_default_without_gpu(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    reason = "no CUDA device was found; using the CPU with 2 threads; numbers are float32."
    assert choose_device() == DeviceChoice(torch.device("cpu"), torch.float32, reason)


def test_cuda_is_preferred_to_mps_and_mps_to_cpu(machine: Machine) -> None:
    machine.set_devices(cuda=2, mps=True)
    assert choose_device().device == torch.device("cuda", 0)
    assert "NVIDIA H200 (cuda:0)" in choose_device().reason
    machine.set_devices(mps=True)
    assert choose_device().device == torch.device("mps")
    assert choose_device().dtype == torch.float32


def test_cudnn_attention_is_disabled_on_cuda(machine: Machine) -> None:
    before = torch.backends.cuda.cudnn_sdp_enabled()
    try:
        torch.backends.cuda.enable_cudnn_sdp(True)
        choose_device()
        assert torch.backends.cuda.cudnn_sdp_enabled(), "unchanged on the CPU"
        machine.set_devices(cuda=1)
        choose_device()
        assert not torch.backends.cuda.cudnn_sdp_enabled()
    finally:
        torch.backends.cuda.enable_cudnn_sdp(before)


def test_gpu_uses_bfloat16_if_supported_or_float16(machine: Machine) -> None:
    machine.set_devices(cuda=1, capability=(8, 0))
    assert choose_device().dtype == torch.bfloat16
    machine.set_devices(cuda=1, capability=(7, 5))
    assert choose_device().dtype == torch.float16
    assert "cannot compute bfloat16" in choose_device().reason


def test_argument_overrides_environment_and_detection(machine: Machine) -> None:
    machine.set_devices(cuda=3)
    machine.set_environment(device=" CUDA:1 ")
    assert choose_device().device == torch.device("cuda", 1)
    assert "HEADLIGHT_DEVICE is cuda:1" in choose_device().reason
    assert choose_device("cpu").device == torch.device("cpu")
    assert choose_device("cuda").device == torch.device("cuda", 0)
    machine.set_environment(device="")
    assert choose_device().device == torch.device("cuda", 0)
    assert "was found" in choose_device().reason


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
def test_dtype_comes_from_environment(machine: Machine, name: str) -> None:
    machine.set_environment(dtype=name)
    assert choose_device().dtype == getattr(torch, name)
    assert f"HEADLIGHT_DTYPE is {name}" in choose_device().reason


@pytest.mark.parametrize(
    ("devices", "environment", "message"),
    [
        ({}, {"device": "gpu"}, r"HEADLIGHT_DEVICE is 'gpu', but must be cuda, cuda:1"),
        ({}, {"device": "cuda"}, r"HEADLIGHT_DEVICE is cuda, but this PyTorch was built without CUDA: install"),
        ({}, {"device": "mps"}, r"HEADLIGHT_DEVICE is mps, but PyTorch cannot use a GPU with MPS .* Choose cpu"),
        ({"cuda": 2}, {"device": "cuda:2"}, r"only 2 CUDA device\(s\), from cuda:0 to cuda:1. Choose one"),
        ({}, {"dtype": "half"}, r"HEADLIGHT_DTYPE is 'half', but must be one of: float32, bfloat16, float16"),
        ({"cuda": 1, "capability": (7, 0)}, {"dtype": "bfloat16"}, r"NVIDIA H200 .* cannot compute. Choose float16"),
        ({"mps": True, "macos": 13}, {"dtype": "bfloat16"}, r"the Mac's GPU cannot compute. Choose float16"),
    ],
)
def test_unavailable_choice_error_gives_advice(
    machine: Machine, devices: dict[str, object], environment: dict[str, str], message: str
) -> None:
    machine.set_devices(**devices)  # type: ignore[arg-type]
    machine.set_environment(**environment)
    with pytest.raises(DeviceError, match=message):
        choose_device()


def test_cuda_build_without_device_mentions_driver(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    with pytest.raises(DeviceError, match="the device is cuda, but PyTorch finds no CUDA device: check the driver"):
        choose_device("cuda")


def test_nothing_is_detected_at_import() -> None:
    script = (
        "import torch\n"
        "def fail(*_): raise SystemExit('a device was queried')\n"
        "torch.cuda.is_available = torch.backends.mps.is_available = torch.cuda.device_count = fail\n"
        "import headlight.model.translate.device"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


# ------------------------------------------------------------ memory


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (RuntimeError("MPS backend out of memory (MPS allocated: 9 GB)"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"), True),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_out_of_memory_errors_are_recognised(error: Exception, expected: bool) -> None:
    assert is_out_of_memory(error) is expected


class SmallDevice:
    """Doubles numbers; runs out of memory above `room` numbers."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.sizes: list[int] = []

    def __call__(self, items: Sequence[int]) -> list[int]:
        self.sizes.append(len(items))
        if len(items) > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.\nmore")
        return [2 * item for item in items]


@pytest.mark.parametrize("count", [0, 1, 2, 7, 13, 16])
@pytest.mark.parametrize("room", [1, 3, 5, 100])
def test_items_are_processed_once_in_order(machine: Machine, count: int, room: int) -> None:
    assert in_smaller_batches(SmallDevice(room), range(count)) == [2 * item for item in range(count)]


def test_batch_is_halved_until_it_fits(machine: Machine) -> None:
    device = SmallDevice(room=3)
    in_smaller_batches(device, range(11))
    assert device.sizes == [11, 6, 3, 3, 3, 2]


def test_too_large_sentence_raises_device_error(machine: Machine) -> None:
    machine.set_devices(cuda=1)
    device = SmallDevice(room=0)
    with pytest.raises(
        DeviceError, match=r"Shorten the sentence, use a smaller beam.*CUDA out of memory. Tried to allocate 2 GiB"
    ):
        in_smaller_batches(device, [3, 5])
    assert device.sizes == [2, 1]


def test_other_errors_are_propagated() -> None:
    def run(items: Sequence[int]) -> list[int]:
        raise RuntimeError("shapes do not fit")

    with pytest.raises(RuntimeError, match="shapes do not fit"):
        in_smaller_batches(run, [1, 2])
