"""A widget: an empty element and the JavaScript module that renders it.

Visitors' text never passes through a `gr.HTML` template, which would execute it. It is sent as JSON in `value` and
rendered as text.
"""

from __future__ import annotations

import re
from typing import Any

import gradio as gr

from headlight.viz.browser_files.static_files import MODULES, file_url

# Gradio compiles this code in a module of its own, so the path is resolved against the page's address.
LOADER = (
    "import(new URL('PLACE', document.baseURI))"
    ".then(({ modules }) => modules['MODULE.js'].mount({"
    "element, trigger, props, watch, server: modules['core/server.js'].server}));"
)
MODULE_OF_LOADER = re.compile(r"modules\['([\w/-]+)\.js'\]\.mount")


def loader(module: str) -> str:
    """Return the code that loads a module and mounts its widget."""
    return LOADER.replace("PLACE", file_url(MODULES)).replace("MODULE", module)


def widget(module: str, name: str = "", *, value: str = "", **props: Any) -> gr.HTML:
    """Return the element for the `mount` function of a module in `viz/widgets`, such as `translate/translate`.

    Its id and class contain `name`, by default the file name. This is a function because Gradio writes a stub file
    next to the source of a subclass.
    """
    name = name or module.rpartition("/")[2]
    return gr.HTML(
        value=value,
        html_template="",
        js_on_load=loader(module),  # `known_functions.py` knows this code
        apply_default_css=False,
        elem_classes=["headlight", f"headlight-{name}"],
        elem_id=f"widget-{name}",
        **props,
    )


def widget_module(component: gr.HTML) -> str:
    """Return the module that renders a widget, or an empty text for any other element."""
    match = MODULE_OF_LOADER.search(component.js_on_load or "")
    return match[1] if match else ""
