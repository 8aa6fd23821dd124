"""What an installation without the app can do; `tests/test_light.py` runs it without the packages of the app.

    python -m tests.light_steps [BLOCKED_PACKAGE …]

It writes into the current folder, imports no other test, and prints a line of JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from typing import Any


class BlockedPackages:
    """Finder that acts as if these packages were not installed."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = frozenset(names)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def run() -> dict[str, Any]:
    """Show, compare, draw, measure, save and read arrays; return some of the results."""
    import numpy as np

    import headlight
    from headlight.bertviz import head_view

    generator = np.random.default_rng(0)
    scores = np.exp(generator.normal(size=(2, 3, 5, 5)))
    attention = (scores / scores.sum(axis=-1, keepdims=True)).astype(np.float32)  # [layer, head, row, column]
    tokens = ["the", "cat", "sat", "on", "it"]
    view = headlight.show(attention, tokens=tokens, layer=1, head=2)
    for name in ("view.html", "maps.npz", "maps.json"):
        view.save(name)
    view.export("wall.svg")
    view.export("head.pdf", "head")
    again = headlight.record("maps.npz")
    figure = headlight.figure("heatmap", view, layer=1, head=2)
    data, _ = view._repr_mimebundle_()
    return {
        "equal": bool((again.of("self").select(1, 2) == attention[1, 2]).all()),
        "cell": round(float(figure.data[0].z[0][0]) - float(attention[1, 2, 0, 0]), 6),
        "previous": headlight.measure(attention, tokens=tokens)["previous"].shape,
        "compare": repr(headlight.compare(view, "maps.json")),
        "bertviz": "headlightData" in head_view(attention, tokens, html_action="return").data,
        "formats": sorted(data),
        "errors": issubclass(headlight.errors.RecordingError, headlight.errors.ModelError),
    }


if __name__ == "__main__":
    sys.meta_path.insert(0, BlockedPackages(sys.argv[1:]))
    sys.stdout.write(json.dumps(run()))
