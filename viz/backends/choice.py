"""Choice of the backend from the settings."""

from __future__ import annotations

from headlight.model.translate.device import choose_device
from headlight.viz.backends.cluster_backend import ClusterBackend
from headlight.viz.backends.zero_gpu import zero_gpu_backend
from headlight.viz.service.backend import Backend, LocalBackend
from headlight.viz.service.loaded_models import LoadedModels
from headlight.viz.settings import Settings


def choose_backend(settings: Settings, models: LoadedModels) -> Backend:
    """Return the local backend, unless a cluster or ZeroGPU is configured."""
    if settings.backend == "ray":
        return ClusterBackend(settings.ray_address, models)
    if gpu_backend := zero_gpu_backend(models):
        return gpu_backend
    choose_device()  # fail at startup, not per request, if the device or the dtype is unavailable
    return LocalBackend(models)
