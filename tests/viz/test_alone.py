"""The page with one tab."""

from __future__ import annotations

from typing import Any

import pytest

from headlight.viz import single_tab
from headlight.viz.tabs import TABS


def test_the_page_is_built_of_one_tab(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Any] = []
    monkeypatch.setattr(single_tab, "build_page", lambda settings, tabs: built.append(tabs) or "the page")
    monkeypatch.setattr(single_tab, "launch_page", lambda page, settings: built.append(page))
    single_tab.main(["why"])
    assert built == [{"why": TABS["why"]}, "the page"]


def test_a_tab_that_is_none_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        single_tab.main(["nonsense"])
    assert "sentiment" in capsys.readouterr().err
