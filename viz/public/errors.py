"""`headlight.errors`: the errors that Headlight raises deliberately.

`except headlight.errors.ModelError` catches all of them. Each message names the value, the problem and the fix.
"""

from __future__ import annotations

from headlight.model.errors import (
    CheckpointError,
    CommandError,
    ConfigError,
    DeviceError,
    MissingPackageError,
    ModelError,
    NoMemoryError,
    ProbeError,
    RequestError,
    TokenizerError,
    TrainingError,
)
from headlight.model.families.hub.model_id import HubError
from headlight.model.recordings.recording import RecordingError

__all__ = [
    "CheckpointError",
    "CommandError",
    "ConfigError",
    "DeviceError",
    "HubError",
    "MissingPackageError",
    "ModelError",
    "NoMemoryError",
    "ProbeError",
    "RecordingError",
    "RequestError",
    "TokenizerError",
    "TrainingError",
]
