"""Training checkpoints: the state of a run at one step, as a safetensors file with the progress in its header.

`model/checkpoints/checkpoint.py` has the format of published models.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import safetensors
import torch
from safetensors.torch import save_file
from torch import Tensor

from headlight.model.errors import TrainingError
from headlight.model.files import write_atomically

Tensors = dict[str, Tensor]
CHECKPOINT_NAME = re.compile(r"step-(\d+)\.safetensors")


@dataclass
class RunProgress:
    """Progress of a run. `epoch` and `batch` are the position of the next batch."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # index in the epoch; a step may use several batches
    tokens: int = 0  # target tokens trained on
    seconds: float = 0.0  # training time over all sessions
    best_loss: float = float("inf")  # validation loss per token, without smoothing
    validations_without_gain: int = 0  # consecutive validations without a new best loss
    finished: bool = False
    last_step: int = 0  # last step of a requested cool-down
    cool_down_steps: int = 0  # length of a requested cool-down; 0: that of the recipe


def make_checkpoint_path(folder: Path, step: int) -> Path:
    """Return the path of the checkpoint of a step."""
    return folder / f"step-{step:08d}.safetensors"


def list_checkpoints(folder: Path) -> list[Path]:
    """List the checkpoints of a run, oldest first."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if CHECKPOINT_NAME.fullmatch(path.name))


def save_checkpoint(path: Path, groups: Mapping[str, Tensors], progress: RunProgress, about: Mapping[str, str]) -> None:
    """Write groups of tensors (`model`, `optimiser`, …) and the progress, atomically."""
    tensors = {
        f"{group}/{name}": tensor.detach().contiguous()
        for group, members in groups.items()
        for name, tensor in members.items()
    }
    state = {key: value if value != float("inf") else None for key, value in asdict(progress).items()}
    header = {"progress": json.dumps(state), **about}

    def write(part: Path) -> None:
        try:
            save_file(tensors, part, metadata=header)
        except safetensors.SafetensorError as error:  # safetensors wraps system errors, such as a full disk
            raise OSError(str(error)) from error

    write_atomically(path, write)


def load_checkpoint(
    path: Path, device: torch.device | str = "cpu"
) -> tuple[dict[str, Tensors], RunProgress, dict[str, str]]:
    """Read a checkpoint, and return its groups of tensors, its progress, and all other header fields."""
    groups: dict[str, Tensors] = {}
    try:
        with safetensors.safe_open(path, framework="pt", device=str(device)) as file:
            header = dict(file.metadata() or {})
            for key in file.keys():  # noqa: SIM118  (a file, not a dictionary)
                group, _, name = key.partition("/")
                groups.setdefault(group, {})[name] = file.get_tensor(key)
        values = json.loads(header.pop("progress"))
        if values["best_loss"] is None:
            values["best_loss"] = float("inf")
        field_names = {field.name for field in fields(RunProgress)}
        progress = RunProgress(**{key: value for key, value in values.items() if key in field_names})
    except (OSError, safetensors.SafetensorError, KeyError, TypeError, ValueError) as error:
        raise TrainingError(
            f"{path} is not a complete training checkpoint ({error}). Remove it to resume from the one before."
        ) from error
    return groups, progress, header


def remove_old_checkpoints(folder: Path, keep: int) -> None:
    """Remove all checkpoints except the `keep` newest."""
    for path in list_checkpoints(folder)[:-keep]:
        path.unlink(missing_ok=True)


def average_checkpoints(members: list[Tensors]) -> Tensors:
    """Average the weights of several checkpoints in float64."""
    return {
        name: (sum((member[name].double() for member in members[1:]), members[0][name].double()) / len(members)).to(
            tensor
        )
        for name, tensor in members[0].items()
    }
