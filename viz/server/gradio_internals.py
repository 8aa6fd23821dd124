"""Private interfaces of Gradio that the page uses, each behind one function.

If a version of Gradio lacks one, the function returns an empty value or does less, and the caller falls back. The queue
in `gradio_queue.py` also uses private interfaces; `docs/private-interfaces.md` lists all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def page_functions(page: Any) -> dict[int, Any]:
    """Return the page's functions, keyed by index."""
    return getattr(page, "fns", None) or {}


def function_named(page: Any, name: str) -> Any:
    """Return the function with this API name, or `None`."""
    functions: Iterable[Any] = page_functions(page).values()
    return next((function for function in functions if getattr(function, "api_name", None) == name), None)


def is_unknown_function(error: Exception) -> bool:
    """Whether Gradio looked up an unknown function. The class is matched by name: its module differs by version."""
    return isinstance(error, KeyError) or type(error).__name__ == "FnIndexInferError"


def is_expired_answer(error: Exception) -> bool:
    """Whether the error means that a Gradio result has expired: it was caused by a 404."""
    return getattr(error.__cause__, "status_code", 0) == 404


def page_queue(page: Any) -> Any:
    """Return the queue of a page, or `None`."""
    return getattr(page, "_queue", None)


def component_kinds(page: Any) -> frozenset[str]:
    """Return the component types on a page, by Gradio's names."""
    components = (getattr(page, "config", None) or {}).get("components", [])
    return frozenset(kind for component in components if isinstance(kind := component.get("type"), str))


def theme_file(page: Any) -> str:
    """Return the URL of the theme relative to the page; empty if the page has no theme."""
    digest = getattr(page, "theme_hash", None)
    return f"theme.css?v={digest}" if digest else ""


def describe(component: Any, name: str, **fields: str) -> None:
    """Set the name and description of an argument or result in the API panel.

    Without Gradio's `_api_info`, only the name is set.
    """
    component.label = name
    info = getattr(component, "_api_info", None)
    if isinstance(info, dict):
        component._api_info = {**info, **fields}
