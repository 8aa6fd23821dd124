"""Objects that exist at startup are excluded from garbage collection; later ones are not."""

from __future__ import annotations

import gc
import weakref

from headlight.viz.service.garbage_collection import freeze_heap


class Cycle:
    def __init__(self) -> None:
        self.itself = self


def test_existing_objects_are_frozen_and_new_garbage_is_collected() -> None:
    before, garbage = weakref.ref(existing := Cycle()), weakref.ref(Cycle())
    freeze_heap()
    try:
        assert garbage() is None  # existing garbage is collected, not frozen
        assert gc.get_freeze_count() > 1000
        del existing
        later = weakref.ref(Cycle())
        gc.collect()
        assert before() is not None
        assert later() is None
    finally:
        gc.unfreeze()
    gc.collect()
    assert before() is None
