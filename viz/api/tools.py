"""The setting for serving the endpoints as MCP tools."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from headlight.viz.settings import Settings, SettingsError

VARIABLE = "GRADIO_MCP_SERVER"
MCP_MAJOR = "1"  # major version of the `mcp` package that Gradio requires


def serves_tools(settings: Settings, environ: Mapping[str, str] | None = None) -> bool:
    """Whether to serve tools. If the variable is unset, only a Space does, because its build installs `gradio[mcp]`."""
    value = (os.environ if environ is None else environ).get(VARIABLE, "").strip().lower()
    try:
        installed_version = version("mcp")
    except PackageNotFoundError:
        installed_version = ""
    is_supported = installed_version.partition(".")[0] == MCP_MAJOR
    if value == "true" and not is_supported:
        reason = (
            f"the installed mcp is {installed_version}, and Gradio needs {MCP_MAJOR}"
            if installed_version
            else "the package mcp is missing"
        )
        raise SettingsError(f"{VARIABLE} is True, but {reason}. Run pip install 'gradio[mcp]', or unset {VARIABLE}.")
    return value == "true" or (not value and settings.on_a_space and is_supported)
