"""The translator of a service that computes in this process."""

from __future__ import annotations

from headlight.model.translate.translator import Translator
from headlight.viz.service.service import Service


def local_translator(service: Service, name: str = "") -> Translator:
    """The translator of this name, or the default one."""
    translator = service.model_info(name)
    assert isinstance(translator, Translator)
    return translator
