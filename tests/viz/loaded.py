"""Helper: the translator that a service outlines when it computes in this process."""

from __future__ import annotations

from headlight.model.translate.translator import Translator
from headlight.viz.service.service import Service


def translator_of(service: Service, name: str = "") -> Translator:
    """The translator of this name, or the default one."""
    found = service.model_info(name)
    assert isinstance(found, Translator)
    return found
