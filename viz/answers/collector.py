"""Python's collector of garbage, which stops all threads while it looks at every object that is left."""

from __future__ import annotations

import gc


def spare_the_collector() -> None:
    """What is in memory by now stays there, and is not looked at again.

    Libraries alone leave 300,000 objects. To go through them takes 0.2 s, in the middle of somebody's answer.
    """
    gc.collect()
    gc.freeze()
