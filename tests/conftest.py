"""Shared setup of all tests: one thread, a fixed seed, no time limit, available devices."""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, settings

from tests.cpu_seconds import CpuSeconds
from tests.tiers import sort_into_tiers

# Most tensors are too small to split: on busy cores, two threads took twenty times as long as one.
torch.set_num_threads(1)

# The duration of an example depends mostly on the load of the machine.
settings.register_profile("headlight", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("headlight")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu-seconds", metavar="FILE", help="append the CPU seconds of each test to this file")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(CpuSeconds(config))


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    sort_into_tiers(items)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with the fixture `device` runs on the CPU and, if available, on a GPU."""
    if "device" in metafunc.fixturenames:
        gpu = [pytest.param("cuda", marks=pytest.mark.gpu)] if torch.cuda.is_available() else []
        metafunc.parametrize("device", ["cpu", *gpu])


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)
