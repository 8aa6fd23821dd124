"""Private interfaces of Gradio that the page reads, each behind one function.

Where a version of Gradio lacks one, the function returns nothing and its caller does without. One further place is the
queue: `gradio_queue.py`. `docs/private-interfaces.md` lists all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Scope = Any  # of ASGI


def find_page(scope: Scope) -> Any:
    """The page of the app that a request goes to; `None` for any other app."""
    find = getattr(scope.get("app"), "get_blocks", None)
    return find() if find is not None else None


def page_functions(page: Any) -> dict[int, Any]:
    """The functions of a page, by their index."""
    return getattr(page, "fns", None) or {}


def function_named(page: Any, name: str) -> Any:
    """The function of an API name; `None` where there is none."""
    functions: Iterable[Any] = page_functions(page).values()
    return next((function for function in functions if getattr(function, "api_name", None) == name), None)


def is_unknown_function(error: Exception) -> bool:
    """Whether Gradio looked up an unknown function. Its error is known by name, because its module moves."""
    return isinstance(error, KeyError) or type(error).__name__ == "FnIndexInferError"


def is_gone(error: Exception) -> bool:
    """Whether Gradio no longer has a result: an error whose cause is a 404."""
    return getattr(error.__cause__, "status_code", 0) == 404


def queue_of_page(page: Any) -> Any:
    """The queue of a page; `None` where there is none."""
    return getattr(page, "_queue", None)


def thread_limiter(page: Any) -> Any:
    """How many threads a page may use, as anyio's limiter; `None`, anyio's own, where there is none."""
    return getattr(page, "limiter", None)


def component_kinds(page: Any) -> frozenset[str]:
    """The kinds of components on a page, by Gradio's names for them."""
    components = (getattr(page, "config", None) or {}).get("components", [])
    return frozenset(kind for each in components if isinstance(kind := each.get("type"), str))


def theme_file(page: Any) -> str:
    """The address of a page's theme, relative to the page; empty where there is none."""
    digest = getattr(page, "theme_hash", None)
    return f"theme.css?v={digest}" if digest else ""


def describe(component: Any, name: str, **said: str) -> None:
    """Set what the API panel says of an argument or a result; without Gradio's table, its name alone."""
    component.label = name
    told = getattr(component, "_api_info", None)
    if isinstance(told, dict):
        component._api_info = {**told, **said}
