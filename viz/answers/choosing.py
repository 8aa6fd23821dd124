"""Which backend the settings name."""

from __future__ import annotations

from headlight.model.translate.device import choose_device
from headlight.viz.answers.backends import Backend, Here
from headlight.viz.answers.cluster import Cluster
from headlight.viz.answers.loaded import LoadedModels
from headlight.viz.answers.zero_gpu import lent_gpu
from headlight.viz.settings import Settings


def choose_backend(settings: Settings, models: LoadedModels) -> Backend:
    """This process, unless a cluster or ZeroGPU is configured."""
    if settings.backend == "ray":
        return Cluster(settings.ray_address, models)
    if lent := lent_gpu(models):
        return lent
    choose_device()  # a device or a number type that does not exist ends the start, not each answer
    return Here(models)
