"""The first answer: a real translation that is there before anybody types, kept beside the models.

`python -m viz.first` makes it anew. It carries the revision of its model; where that has changed, it is not used.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from viz.examples import EXAMPLES
from viz.model_values import answer_of, usual_request
from viz.service import Service
from viz.settings import read_settings

FIRST = Path(__file__).resolve().parents[1] / "assets" / "first.json"


def first_answer(service: Service) -> str:
    """The kept answer, or one made now."""
    if FIRST.exists():
        kept = json.loads(FIRST.read_text(encoding="utf-8"))
        if kept["revision"] == _revision(service):
            answer: str = kept["answer"]
            return answer
    return make_first(service)


def make_first(service: Service) -> str:
    """The first example of the default model, translated as the page would."""
    example = next((each for each in EXAMPLES if each.model == service.default), EXAMPLES[0])
    request = service.check(usual_request(service) | {"text": example.text})
    return answer_of(service, service.translate(request))


def _revision(service: Service) -> str:
    return next((card.revision for card in service.models() if card.default), "")


def main() -> None:
    """Write it."""
    service = Service(read_settings())
    kept = {"revision": _revision(service), "answer": make_first(service)}
    FIRST.write_text(json.dumps(kept, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.stdout.write(f"{FIRST}: {FIRST.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
