"""One sentence and its forced translation, in each of the small models that a file names as its `VARIANTS`."""

from __future__ import annotations

import pytest

from headlight.model.records import Translation
from headlight.model.translate.translator import Translator
from tests.model.experiments.forced import TARGET, TEXT
from tests.tiny import tiny_translator


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of `translator` runs once for each variant of its file."""
    variants = getattr(metafunc.module, "VARIANTS", None)
    if variants and "translator" in metafunc.fixturenames:
        metafunc.parametrize("translator", variants, indirect=True, scope="module")


@pytest.fixture(scope="module")
def translator(request: pytest.FixtureRequest) -> Translator:
    return tiny_translator(**request.module.VARIANTS[request.param])


@pytest.fixture(scope="module")
def answer(translator: Translator) -> Translation:
    return translator.translate(TEXT, target=TARGET)
