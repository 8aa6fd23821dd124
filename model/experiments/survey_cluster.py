"""A survey on a Ray cluster: workers measure the parts of a plan, and this process writes the results.

Workers receive the lines of a part and return its tables, so the machines need no shared disk. Each machine needs the
model's folder at the same path, as in the Docker image. Ray Data recomputes the parts of a lost worker.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from headlight.model.checkpoints.checksums import fingerprint
from headlight.model.errors import CommandError, ModelError
from headlight.model.experiments.survey_files import (
    SurveyPart,
    SurveyPlan,
    find_missing_parts,
    measure_part,
    read_plan,
    write_part,
)

MAX_PENDING_PARTS = 1000  # parts in flight, which limit the memory of this process and of Ray's object store


class SurveyWorker:
    """A Ray actor with one core, which loads the model once."""

    def __init__(self, plan: SurveyPlan, model: Path, device: str | None) -> None:
        import torch

        torch.set_num_threads(1)
        self.plan, self.model, self.device = plan, model, device
        if not model.is_dir():
            raise CommandError(f"A machine in the cluster has no folder {model}. Put the model there.")
        if fingerprint(model) != plan.revision:
            raise CommandError(f"A machine in the cluster has a different model in {model}. Copy this model there.")

    def __call__(self, rows: Any) -> Any:
        """Measure one part and return its tables."""
        (row,) = rows.to_pylist()
        lines = row["text"].split("\n")
        result = measure_part(self.plan, row["number"], lines, self.model, self.device)
        tables = {"number": row["number"], "lines": len(lines), "heads": result.heads, "sentences": result.sentences}
        return type(rows).from_pylist([tables])


def survey_on_cluster(
    folder: Path,
    model: Path,
    file: Path,
    *,
    workers: int | None = None,
    device: str | None = None,
    on_progress: Callable[[int], None] | None = None,
    worker_class: type[SurveyWorker] = SurveyWorker,
) -> int:
    """Run `survey_files.run_survey` on the current Ray cluster, with `workers` workers or one per core."""
    from ray.data import ActorPoolStrategy, DataContext, from_items
    from ray.exceptions import RayError

    logging.getLogger("ray.data").setLevel(logging.WARNING)  # `on_progress` reports instead
    settings = DataContext.get_current()
    settings.enable_progress_bars = False
    settings.print_on_execution_start = False
    plan = read_plan(folder)
    report = on_progress or (lambda lines: None)
    missing = find_missing_parts(folder, plan, file, report)
    pool = ActorPoolStrategy(size=workers) if workers else ActorPoolStrategy(min_size=1, max_size=_count_cores())
    measured = 0
    while window := _take_next_rows(missing):
        parts = from_items(window, override_num_blocks=len(window)).map_batches(
            worker_class,
            fn_constructor_args=(plan, model.resolve(), device),
            compute=pool,
            batch_size=1,
            batch_format="pyarrow",  # NumPy would drop trailing zero bytes
            num_cpus=1,
        )
        try:
            for row in parts.iter_rows():
                write_part(folder, int(row["number"]), SurveyPart(row["heads"], row["sentences"]))
                report(int(row["lines"]))
                measured += 1
        except RayError as error:
            raise _to_command_error(error) from error
    return measured


def _take_next_rows(missing: Iterator[tuple[int, list[str]]]) -> list[dict[str, Any]]:
    """Return the rows of the next parts, one per part."""
    return [
        {"number": number, "text": "".join(lines).removesuffix("\n")}
        for number, lines in islice(missing, MAX_PENDING_PARTS)
    ]


def _count_cores() -> int:
    import ray

    return max(1, int(ray.cluster_resources().get("CPU", 1)))  # type: ignore[no-untyped-call]


def _to_command_error(error: BaseException) -> CommandError:
    """Return the error that a worker raised, or a general error with the last line of Ray's message."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, CommandError | ModelError):
            return CommandError(str(cause).splitlines()[-1])
        cause = getattr(cause, "cause", None) or cause.__cause__
    lines = str(error).strip().splitlines()
    return CommandError(f"The cluster could not measure a part: {lines[-1] if lines else type(error).__name__}")
