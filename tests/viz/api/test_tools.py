"""MCP tools are served if enabled, and by default on a Space."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError

import pytest

from headlight.viz.api import tools
from headlight.viz.api.tools import VARIABLE, serves_tools
from headlight.viz.settings import Settings, SettingsError

SPACE, ELSEWHERE = Settings(on_a_space=True), Settings()


def install(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """A version of the package `mcp`, or none."""

    def find_version(name: str) -> str:
        if not version:
            raise PackageNotFoundError(name)
        return version

    monkeypatch.setattr(tools, "version", find_version)


@pytest.mark.parametrize(
    ("settings", "message", "version", "serves"),
    [
        (SPACE, None, "1.30.0", True),
        (SPACE, "", "1.30.0", True),
        (SPACE, "False", "1.30.0", False),
        (SPACE, None, "", False),
        (SPACE, None, "2.0.1", False),
        (ELSEWHERE, None, "1.30.0", False),
        (ELSEWHERE, "True", "1.30.0", True),
        (ELSEWHERE, "False", "2.0.1", False),
    ],
)
def test_mcp_tools_are_served_if_enabled_and_installed(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, message: str | None, version: str, serves: bool
) -> None:
    install(monkeypatch, version)
    assert serves_tools(settings, {} if message is None else {VARIABLE: message}) is serves


@pytest.mark.parametrize(("version", "why"), [("2.0.1", "mcp is 2.0.1, and Gradio needs 1"), ("", "is missing")])
def test_enabling_mcp_without_package_explains_installation(
    monkeypatch: pytest.MonkeyPatch, version: str, why: str
) -> None:
    install(monkeypatch, version)
    with pytest.raises(SettingsError, match=rf"^{VARIABLE} is True, but .*{why}.* Run pip install 'gradio\[mcp\]'"):
        serves_tools(ELSEWHERE, {VARIABLE: "true"})
