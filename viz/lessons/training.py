"""Training steps: the state before a run, and the calls that start, poll and stop one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from headlight.model.errors import TrainingError
from headlight.model.training.watched import Beginning, Moment, begun_values, moment_values, untrained
from headlight.model.training.watched_process import MOST_RUNS
from headlight.model.training.watched_settings import CHOICES, WatchedRun
from headlight.viz.answers.service import Service
from headlight.viz.errors import PageError, shown
from headlight.viz.lessons.controls import Choice, Control, Switch
from headlight.viz.lessons.drawn import Trains
from headlight.viz.values import check_whole
from headlight.viz.wire.visitors import VISITOR

MOST_SEEN = 1000  # messages of a run
SIZES: tuple[Control, ...] = (
    Choice("layers", tuple(map(str, CHOICES["layers"])), "2", slides=True),
    Choice("heads", tuple(map(str, CHOICES["heads"])), "4", slides=True),
    Choice("d_model", tuple(map(str, CHOICES["d_model"])), "32", slides=True),
)
LEARNING: tuple[Control, ...] = (
    Choice("rate", tuple(f"{rate:g}" for rate in CHOICES["rate"]), "0.002", slides=True),
    Choice("warmup", tuple(map(str, CHOICES["warmup"])), "20", slides=True),
    Switch("positions", start=True),
)


def run_of(values: Mapping[str, Any], **more: Any) -> WatchedRun:
    """A run with the control values; `more` are settings of the step."""
    read: dict[str, Callable[[Any], Any]] = {
        "layers": int, "heads": int, "d_model": int, "rate": float, "warmup": int, "positions": bool, "corpus": str,
    }  # fmt: skip
    chosen = {name: read[name](value) for name, value in values.items() if name in read}
    return WatchedRun(**chosen | more)


def trains(*runs: WatchedRun, sentence: int = 0) -> tuple[Trains, list[tuple[Beginning, Moment]]]:
    """The picture of runs that are not begun yet, and their untrained models, where these can be looked at."""
    models = [untrained(run) for run in runs]
    kept = [begun_values([beginning for beginning, _ in models])]
    kept += [moment_values(number, moment) for number, (_, moment) in enumerate(models)]
    seen = [(beginning, moment) for beginning, moment in models if isinstance(moment, Moment)]
    return Trains([asdict(run) for run in runs], kept, sentence), seen


# ---------------------------------------------------------------- calls of the page


def training_calls(service: Service) -> Sequence[Callable[[Mapping[str, Any]], dict[str, Any]]]:
    """Start, poll and stop a run. None of these functions computes."""

    def begin_training(values: Mapping[str, Any]) -> dict[str, Any]:
        runs = checked_runs(values.get("runs"))
        return {"run": service.training.begin(VISITOR.get(), [asdict(run) for run in runs]).name}

    def more_training(values: Mapping[str, Any]) -> dict[str, Any]:
        seen = check_whole("seen", values.get("seen", 0), low=0, high=MOST_SEEN)
        return service.training.more(VISITOR.get(), values.get("run"), seen)

    def stop_training(values: Mapping[str, Any]) -> dict[str, Any]:
        service.training.stop(VISITOR.get(), values.get("run"))
        return {}

    return begin_training, more_training, stop_training


def checked_runs(given: Any) -> list[WatchedRun]:
    """The runs that a browser names; each field is one of a few values."""
    if not isinstance(given, list) or not 0 < len(given) <= MOST_RUNS:
        raise PageError(
            "runs", "wrong_type", {"name": "runs", "given": shown(given), "needed": f"[{{…}}] × {MOST_RUNS}"}
        )
    try:
        return [WatchedRun(**values) for values in given]
    except (TypeError, TrainingError) as error:  # a field that there is not, or another value
        raise PageError("runs", "wrong_field", {"name": "runs"}) from error
