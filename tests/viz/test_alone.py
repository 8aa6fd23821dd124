"""The page with one tab."""

from __future__ import annotations

from typing import Any

import pytest

from headlight.viz import alone
from headlight.viz.tabs import TABS


def test_the_page_is_built_of_one_tab(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Any] = []
    monkeypatch.setattr(alone, "build_page", lambda settings, tabs: built.append(tabs) or "the page")
    monkeypatch.setattr(alone, "launch_page", lambda page, settings: built.append(page))
    alone.main(["why"])
    assert built == [{"why": TABS["why"]}, "the page"]


def test_a_tab_that_is_none_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        alone.main(["nonsense"])
    assert "sentiment" in capsys.readouterr().err
