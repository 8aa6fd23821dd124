"""`python -m workshop.trust.smoke URL`: whether a running page answers. Needs no package, for the image's workflow."""

from __future__ import annotations

import json
import sys
import urllib.request

SENTENCE, WORD = "Ich trinke ein Bier.", "beer"


def main(url: str) -> int:
    """Load the page and translate a sentence through the API."""
    html = _read(f"{url}/").decode()
    is_page = "window.gradio_config" in html
    event = json.loads(_read(f"{url}/gradio_api/call/translate", json.dumps({"data": [SENTENCE]}).encode()))["event_id"]
    answer = _read(f"{url}/gradio_api/call/translate/{event}").decode()
    print(answer)
    return 0 if is_page and "event: complete" in answer and WORD in answer else 1


def _read(url: str, body: bytes | None = None) -> bytes:
    if not url.startswith("http://"):
        raise SystemExit(f"{url!r} is not the address of a page. Give one such as http://127.0.0.1:7860.")
    request = urllib.request.Request(url, data=body, headers={"content-type": "application/json"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=120) as reply:  # noqa: S310
        return bytes(reply.read())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1].rstrip("/")))
