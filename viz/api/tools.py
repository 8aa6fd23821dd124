"""Whether the endpoints are served as MCP tools."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from headlight.viz.settings import Settings, SettingsError

VARIABLE = "GRADIO_MCP_SERVER"
MAJOR = "1"  # of the `mcp` package; Gradio requires it


def serves_tools(settings: Settings, environ: Mapping[str, str] | None = None) -> bool:
    """The value of the variable. If unset, true on a Space, whose build installs `gradio[mcp]`."""
    wanted = (os.environ if environ is None else environ).get(VARIABLE, "").strip().lower()
    try:
        result = version("mcp")
    except PackageNotFoundError:
        result = ""
    fits = result.partition(".")[0] == MAJOR
    if wanted == "true" and not fits:
        why = f"the installed mcp is {result}, and Gradio needs {MAJOR}" if result else "the package mcp is missing"
        raise SettingsError(f"{VARIABLE} is True, but {why}. Run pip install 'gradio[mcp]', or unset {VARIABLE}.")
    return wanted == "true" or (not wanted and settings.on_a_space and fits)
