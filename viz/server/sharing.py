"""The page's meta tags for link previews, search engines and browsers: title, picture, icon.

They replace the tags in Gradio's template, which contain Gradio's name, account, picture and URL.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable

from headlight.viz.browser_files.static_files import ICON, MANIFEST, SHARE_PICTURE, SHARE_PICTURE_SIZE, file_url
from headlight.viz.figure_phrases import phrases
from headlight.viz.server.hub_status import make_status_script

NAME, AUTHOR = "Headlight", "The Headlight maintainers"  # as in CITATION.cff
BASE = re.compile(rb"<base [^>]*>")  # our tags follow it, because their relative URLs resolve against it
RELATIVE_BASE = re.compile(rb'<base href="\./" ?/?>')
GRADIO_TAGS = re.compile(rb'<meta\s+(?:property="og:|name="twitter:)[^>]*>|<link rel="(?:icon|manifest)"[^>]*>')
ROOT = re.compile(rb'"root":("https?://[^"\\<>]*")')  # the page's URL in Gradio's configuration


def replace_meta_tags(body: bytes) -> bytes:
    """Replace Gradio's tags with ours, after the `<base>` tag; return the HTML unchanged if `<base>` is missing."""
    if not BASE.search(body):
        return body
    match = ROOT.search(body)
    root = json.loads(match[1]) if match else ""
    inserted = f"{tags(root)}{make_status_script(root)}".encode()
    return BASE.sub(lambda base: base[0] + inserted, GRADIO_TAGS.sub(b"", body), count=1)


def tags(root: str, url: Callable[[str], str] = file_url) -> str:
    """Return the tags as HTML. Crawlers need absolute URLs.

    `root`: the page's URL without a trailing slash, or empty. `url` returns the URL of a file relative to the page.
    """
    description, picture = (
        phrases("en")["line"],
        f"{root}/{url(SHARE_PICTURE)}" if root else url(SHARE_PICTURE),
    )
    width, height = SHARE_PICTURE_SIZE
    meta_tags = {
        "description": description,
        "author": AUTHOR,
        "twitter:card": "summary_large_image",
        "twitter:image": picture,
    }
    open_graph = {
        "og:type": "website",
        "og:title": NAME,
        "og:description": description,
        **({"og:url": f"{root}/"} if root else {}),
        "og:image": picture,
        "og:image:width": str(width),
        "og:image:height": str(height),
        "og:image:alt": phrases("en")["share_picture"],
    }
    links = {"icon": ICON, "apple-touch-icon": ICON, "manifest": MANIFEST}
    return "".join(
        [
            f"<title>{NAME}</title>",
            *(_tag("meta", name=name, content=content) for name, content in meta_tags.items()),
            *(_tag("meta", property=name, content=content) for name, content in open_graph.items()),
            *(_tag("link", rel=rel, href=url(name)) for rel, name in links.items()),
        ]
    )


def _tag(kind: str, **values: str) -> str:
    attributes = " ".join(f'{name}="{html.escape(value)}"' for name, value in values.items())
    return f"<{kind} {attributes}>"
