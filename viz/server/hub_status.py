"""A script that answers the Space status check of Gradio's client in the browser.

On a Space, the client queries the Hub's status API before it connects. If the page has loaded, the Space is running.
Our content security policy would block the request to another host and log a console error.
"""

from __future__ import annotations

from urllib.parse import urlsplit

SPACES = ".hf.space"  # host suffix by which Gradio's client detects a Space
STATUS = "https://huggingface.co/api/spaces/"
RUNS = '{"id": "", "runtime": {"stage": "RUNNING"}}'
SCRIPT = f"""<script>
{{
  const ask = window.fetch;
  window.fetch = (address, ...more) =>
    String(address).startsWith('{STATUS}') ? Promise.resolve(new Response('{RUNS}')) : ask(address, ...more);
}}
</script>"""


def status_script(root: str) -> str:
    """Return the script for a page at this URL; empty outside a Space."""
    return SCRIPT if (urlsplit(root).hostname or "").endswith(SPACES) else ""
