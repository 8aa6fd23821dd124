"""A script that answers the Space status check of Gradio's client in the browser.

On a Space, the client queries the Hub's status API before it connects. If the page has loaded, the Space is running.
Our content security policy would block the request to another host and log a console error.
"""

from __future__ import annotations

from urllib.parse import urlsplit

SPACE_SUFFIX = ".hf.space"  # host suffix by which Gradio's client detects a Space
STATUS_URL = "https://huggingface.co/api/spaces/"
RUNNING_STATUS = '{"id": "", "runtime": {"stage": "RUNNING"}}'
SCRIPT = f"""<script>
{{
  const originalFetch = window.fetch;
  window.fetch = (address, ...options) =>
    String(address).startsWith('{STATUS_URL}')
      ? Promise.resolve(new Response('{RUNNING_STATUS}'))
      : originalFetch(address, ...options);
}}
</script>"""


def make_status_script(root: str) -> str:
    """Return the script for a page at this URL; empty outside a Space."""
    return SCRIPT if (urlsplit(root).hostname or "").endswith(SPACE_SUFFIX) else ""
