"""The content security policy of every response.

Scripts come from this server only. A page's inline scripts are listed by their hashes: Gradio writes its configuration
into one of them, so they differ by request.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence

SCRIPT_HASHES = "headlight.script_hashes"  # key in the scope: the hashes that `PreloadMiddleware` adds
INLINE_SCRIPT = re.compile(rb"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.DOTALL)
SOURCES = {
    "default-src": "'self'",
    "script-src": "'self'",
    "style-src": "'self' 'unsafe-inline'",  # Gradio and Plotly set styles in attributes and elements
    "img-src": "'self' data: blob:",  # images exported by Plotly
    "font-src": "'self' data:",
    "connect-src": "'self' data: blob:",
    "worker-src": "'self' blob:",
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'self'",
}


def content_policy(frames: Sequence[str], script_hashes: Iterable[str] = ()) -> bytes:
    """Return the value of the header. `frames`: sites that may embed the page; `script_hashes`: of inline scripts."""
    hashes = "".join(f" '{script_hash}'" for script_hash in script_hashes)
    sources = SOURCES | {
        "script-src": f"{SOURCES['script-src']}{hashes}",
        "frame-ancestors": " ".join(("'self'", *frames)),
    }
    return "; ".join(f"{name} {values}" for name, values in sources.items()).encode()


def find_inline_script_hashes(html: bytes) -> list[str]:
    """Return the hashes of all inline scripts of an HTML page, such as `sha256-…`, as the header names them."""
    return [
        f"sha256-{base64.b64encode(hashlib.sha256(code).digest()).decode()}" for code in INLINE_SCRIPT.findall(html)
    ]
