"""Connection to a Ray cluster, or start of a local one."""

from __future__ import annotations

import importlib
import os
from typing import Any, Literal

from headlight.model.errors import CommandError
from headlight.viz.service.import_path import python_path


def join_or_start(library: Literal["data", "serve"], *, start_local: bool, **options: Any) -> None:
    """Start a local cluster, or join the one that runs on this machine. Ray's usage statistics are disabled.

    `library`: the required Ray library, which may be missing.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["PYTHONPATH"] = python_path()  # for Ray's workers
    try:
        import ray

        importlib.import_module(f"ray.{library}")
    except ImportError as error:
        raise CommandError(
            f"Ray {library.title()} is not installed. Run `pip install 'headlight-attention[cluster]'`."
        ) from error
    if start_local:
        try:
            ray.init(include_dashboard=False, log_to_driver=False, **options)
        except Exception as error:  # Ray has no common class for these errors
            advice = "If the machine is busy, try again later."
            raise CommandError(f"Ray does not start on this machine: {error} {advice}") from error
        return
    try:
        ray.init(address="auto", log_to_driver=False, **options)
    except ConnectionError as error:
        advice = "Start one with `ray start --head`, or use --cluster."
        raise CommandError(f"No Ray runs on this machine. {advice}") from error
