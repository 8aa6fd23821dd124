"""Run a survey on a real cluster in a separate process. The first worker that measures a part crashes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from headlight.model.experiments.survey_cluster import SurveyWorker, survey_on_cluster
from headlight.viz.backends.ray_cluster import join_or_start
from headlight.viz.settings import MODELS


class CrashingWorker(SurveyWorker):
    """Crashes once while it measures a part. The file named by `DIED` records the crash."""

    def __call__(self, rows: Any) -> Any:
        """Crash if no worker has crashed before, else measure the part."""
        marker = Path(os.environ["DIED"])
        try:
            marker.touch(exist_ok=False)
        except FileExistsError:
            return super().__call__(rows)
        os._exit(1)


if __name__ == "__main__":
    folder, file, temporary = sys.argv[1:]
    join_or_start("data", start_local=True, num_cpus=2, _temp_dir=temporary, object_store_memory=80_000_000)
    measured = survey_on_cluster(
        Path(folder), MODELS / "toy", Path(file), workers=2, device="cpu", worker_class=CrashingWorker
    )
    sys.stdout.write(f"{measured} parts\n")
