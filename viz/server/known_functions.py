"""A script that replaces `Function` in the browser, so that the content security policy can forbid `eval`.

`gr.HTML` compiles two templates and `js_on_load` from text. Our templates are empty, and `js_on_load` differs only in
the name of the module. The script returns ready functions for these texts; the browser rejects any other text.
"""

from __future__ import annotations

import json
from functools import cache

from headlight.viz.server.widget import loader

ARGUMENTS = "element, trigger, props, server, upload, watch"  # those of `js_on_load`, in Gradio's order
EMPTY_TEMPLATES = ("return ``;", 'return "";')  # compiled by Gradio, and by Handlebars
MODULE = "MODULE"
SCRIPT = """<script>
{
  const emptyTemplates = EMPTY_TEMPLATES;
  const [start, end] = LOADER;
  const load = (module) => (ARGUMENTS) => { CODE };
  const findFunction = (source) => {
    if (emptyTemplates.includes(source.trim())) return () => '';
    if (source.startsWith(start) && source.endsWith(end)) return load(source.slice(start.length, -end.length));
    return null;
  };
  window.Function = new Proxy(Function, {
    apply: (target, self, parts) => findFunction(String(parts.at(-1))) ?? Reflect.apply(target, self, parts),
    construct: (target, parts, self) => findFunction(String(parts.at(-1))) ?? Reflect.construct(target, parts, self),
  });
}
</script>"""


@cache
def make_known_functions_script() -> str:
    """Return the script. It must run before Gradio's scripts."""
    source = loader(MODULE)
    parts = {
        "EMPTY_TEMPLATES": _to_javascript(EMPTY_TEMPLATES),
        "LOADER": _to_javascript(source.split(MODULE)),
        "ARGUMENTS": ARGUMENTS,
        "CODE": source.replace(f"'{MODULE}.js'", "`${module}.js`"),
    }
    script = SCRIPT
    for name, text in parts.items():
        script = script.replace(name, text)
    return script


def _to_javascript(value: object) -> str:
    return json.dumps(value).replace("<", "\\u003c")
