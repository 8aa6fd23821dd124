"""What every test shares: one thread, a fixed seed, no limit of time, and the devices at hand."""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, settings

from tests.cpu_seconds import CpuSeconds
from tests.tiers import sort_into_tiers

# Most tensors here are too small to share: on busy cores, two threads took twenty times as long as one.
torch.set_num_threads(1)

# How long an example takes, or its making, says how busy the machine is.
settings.register_profile("headlight", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("headlight")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu-seconds", metavar="FILE", help="write what each test costs to this file, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(CpuSeconds(config))


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    sort_into_tiers(items)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `device` runs on the CPU and, where there is one, on a GPU: nothing to skip."""
    if "device" in metafunc.fixturenames:
        gpu = [pytest.param("cuda", marks=pytest.mark.gpu)] if torch.cuda.is_available() else []
        metafunc.parametrize("device", ["cpu", *gpu])


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)
