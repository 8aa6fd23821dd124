"""One widget: an empty element, and the module that fills it.

What a person typed never passes through a template: those of `gr.HTML` would run it. It travels as JSON in `value` and
is drawn as text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gradio as gr

from headlight.viz.wire.static import MODULES, place

# The browser's own name of the page knows under which path, or in whose frame, it is served.
LOADER = (
    "import(`${window.gradio_config?.root ?? ''}/PLACE`)"
    ".then(({ modules }) => modules['MODULE.js'].mount({element, trigger, props, server, watch}));"
)


def widget(module: str, *, value: str = "", server: Sequence[Callable[..., Any]] = (), **props: Any) -> gr.HTML:
    """`module` is a JavaScript file below this folder, as `translate/translate`, whose `mount` gets the element.

    A function, no class: of a class Gradio would write a description into our folder.
    """
    name = module.rpartition("/")[2]
    return gr.HTML(
        value=value,
        html_template="",
        js_on_load=LOADER.replace("PLACE", place(MODULES)).replace("MODULE", module),
        apply_default_css=False,
        server_functions=list(server) or None,
        elem_classes=["headlight", f"headlight-{name}"],
        elem_id=f"widget-{name}",
        **props,
    )
