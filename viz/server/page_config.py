"""The page's configuration, which Gradio also serves at `/config`: its functions, component types and theme."""

from __future__ import annotations

from typing import Any, NamedTuple

import gradio as gr


class PageFunction(NamedTuple):
    """A function of the page, as clients see it."""

    api_name: str
    input_count: int
    is_queued: bool
    cancels_others: bool

    @property
    def needs_event_data(self) -> bool:
        """Whether a call must contain event data: a queued function without inputs reads nothing else."""
        return self.is_queued and not self.input_count


def list_page_functions(page: gr.Blocks | None) -> dict[int, PageFunction]:
    """Return the page's functions, keyed by index; empty without a page."""
    dependencies = _config(page).get("dependencies", [])
    return {
        entry["id"]: PageFunction(
            str(entry["api_name"]), len(entry["inputs"]), bool(entry["queue"]), bool(entry["cancels"])
        )
        for entry in dependencies
    }


def list_component_types(page: gr.Blocks | None) -> frozenset[str]:
    """Return the component types on a page, by Gradio's names."""
    return frozenset(entry["type"] for entry in _config(page).get("components", []))


def make_theme_file(page: gr.Blocks | None) -> str:
    """Return the URL of the theme relative to the page; empty if the page has no theme."""
    theme_hash = _config(page).get("theme_hash")
    return f"theme.css?v={theme_hash}" if theme_hash else ""


def _config(page: gr.Blocks | None) -> dict[str, Any]:
    return {} if page is None else dict(page.get_config_file())
