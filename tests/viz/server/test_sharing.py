"""Sharing metadata of the page; on a Space, the Hub is not polled."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from headlight.viz.browser_files.static_files import ICON, MANIFEST, SHARE_PICTURE, file_url
from headlight.viz.figure_phrases import phrases
from headlight.viz.server.gradio_files import FRONTEND
from headlight.viz.server.hub_status import STATUS_URL
from headlight.viz.server.sharing import replace_meta_tags

TEMPLATES = {name: (FRONTEND / name).read_text(encoding="utf-8") for name in ("index.html", "share.html")}
SPACE = "https://someone-headlight.hf.space"


class Head(HTMLParser):
    """The tags of a page that name something, in their order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.named: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "meta" and (name := values.get("property", values.get("name", ""))):
            self.named.append((name, values["content"]))
        elif tag == "link":
            self.named.append((values["rel"], values["href"]))


def introduced(root: str, template: str = "index.html") -> str:
    """Gradio's page at an address, with our tags."""
    page = re.sub(r"\{\{.*?\}\}", "", TEMPLATES[template])
    page = page.replace("window.gradio_config = ", f'window.gradio_config = {{"root":"{root}"}}')
    return replace_meta_tags(page.encode()).decode()


@pytest.mark.parametrize("template", TEMPLATES)
def test_gradio_tags_are_replaced(template: str) -> None:
    assert "gradio-app/gradio/main" in TEMPLATES[template]  # Gradio's picture
    assert "@teamGradio" in TEMPLATES[template]
    named = Head(introduced(SPACE, template)).named
    tags = dict(named)
    once = [name for name, _ in named if name not in ("stylesheet", "preload")]
    assert len(once) == len(set(once))
    assert tags["og:url"] == f"{SPACE}/"
    assert tags["og:image"] == tags["twitter:image"] == f"{SPACE}/{file_url(SHARE_PICTURE)}"
    assert (tags["og:title"], tags["twitter:card"]) == ("Headlight", "summary_large_image")
    assert tags["og:description"] == tags["description"] == phrases("en")["line"]
    assert (tags["icon"], tags["apple-touch-icon"], tags["manifest"]) == (
        file_url(ICON),
        file_url(ICON),
        file_url(MANIFEST),
    )
    assert "Gradio" not in "".join(content for name, content in named if name.startswith(("og:", "twitter:", "author")))


def test_url_is_escaped_in_tags() -> None:
    named = Head(introduced("https://site.example/a&b'c")).named
    assert ("og:url", "https://site.example/a&b'c/") in named
    assert 'content="https://site.example/a&amp;b' in introduced("https://site.example/a&b")


def test_page_without_root_has_relative_urls() -> None:
    tags = dict(Head(replace_meta_tags(b'<base href="./">').decode()).named)
    assert tags["og:image"] == file_url(SHARE_PICTURE)
    assert "og:url" not in tags
    assert replace_meta_tags(b"<p>") == b"<p>"


@pytest.mark.parametrize(
    ("root", "answers"),
    [(SPACE, True), (f"{SPACE}/below", True), ("https://hf.space.example", False), ("http://127.0.0.1:7860", False)],
)
def test_space_page_answers_gradio_hub_request(root: str, answers: bool) -> None:
    assert (STATUS_URL in introduced(root)) is answers
