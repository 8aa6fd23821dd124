"""A survey on a real cluster in a process of its own, for tests: the first worker that measures a part dies of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from headlight.model.experiments.survey_cluster import SurveyWorker, survey_on_cluster
from headlight.viz.backends.ray_cluster import join_or_start
from headlight.viz.settings import MODELS


class Mortal(SurveyWorker):
    """Dies once, with a part in its hands; the file beside the survey remembers it."""

    def __call__(self, rows: Any) -> Any:
        """See above."""
        died = Path(os.environ["DIED"])
        try:
            died.touch(exist_ok=False)
        except FileExistsError:
            return super().__call__(rows)
        os._exit(1)


if __name__ == "__main__":
    folder, file, temporary = sys.argv[1:]
    join_or_start("data", start_local=True, num_cpus=2, _temp_dir=temporary, object_store_memory=80_000_000)
    measured = survey_on_cluster(Path(folder), MODELS / "toy", Path(file), workers=2, device="cpu", worker_class=Mortal)
    sys.stdout.write(f"{measured} parts\n")
