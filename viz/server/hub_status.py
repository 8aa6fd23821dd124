"""On a Space, Gradio's client asks the Hub whether the Space runs before it talks to it. The page answers that itself.

The page is there, so the Space runs; and our policy lets no page ask another host, which the console calls an error.
"""

from __future__ import annotations

from urllib.parse import urlsplit

SPACES = ".hf.space"  # Gradio's client knows a Space by this end of its host
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
    """The script for a page at this address: empty where it is no Space's."""
    return SCRIPT if (urlsplit(root).hostname or "").endswith(SPACES) else ""
