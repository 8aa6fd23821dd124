"""Objects that exist at startup are excluded from garbage collection; later ones are not."""

from __future__ import annotations

import gc
import weakref

from headlight.viz.service.garbage_collection import freeze_heap


class Knot:
    def __init__(self) -> None:
        self.itself = self


def test_existing_objects_are_frozen_and_new_garbage_is_collected() -> None:
    before, gone = weakref.ref(kept := Knot()), weakref.ref(Knot())
    freeze_heap()
    try:
        assert gone() is None  # garbage of before is not kept for ever
        assert gc.get_freeze_count() > 1000
        del kept
        later = weakref.ref(Knot())
        gc.collect()
        assert before() is not None
        assert later() is None
    finally:
        gc.unfreeze()
    gc.collect()
    assert before() is None
