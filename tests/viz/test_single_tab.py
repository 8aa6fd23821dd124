"""The page with one tab."""

from __future__ import annotations

from typing import Any

import pytest

from headlight.viz import single_tab
from headlight.viz.tabs import TABS


def test_page_can_be_built_with_one_tab(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Any] = []
    monkeypatch.setattr(single_tab, "build_page", lambda settings, tabs: built.append(tabs) or "the page")
    monkeypatch.setattr(single_tab, "launch_page", lambda page, settings: built.append(page))
    single_tab.main(["why"])
    assert built == [{"why": TABS["why"]}, "the page"]


def test_unknown_tab_error_lists_tabs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        single_tab.main(["nonsense"])
    assert "sentiment" in capsys.readouterr().err
