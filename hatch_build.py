"""The build: files that move in the wheel, and metadata for PyPI.

The description is the README without a Space's front matter. Its pictures and links are paths in the repository, which
PyPI cannot follow. `repository-code` of CITATION.cff is the only place with the repository's URL. If it is set, paths
become URLs of the released version, and the page links to the repository. Otherwise pictures and lines with nothing but
a link are removed, and other links become plain text.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n+", re.DOTALL)
PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)\s]+)\)")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")
TABLE_OF_PICTURES = re.compile(r"^\| \| \|\n\| --- \| --- \|\n(?:\| !\[.*\n)+\n?", re.MULTILINE)
CHECKOUT = (  # text for a checkout → text for the package
    (re.compile(r"^<!-- in a checkout -->\n.*?^<!-- anywhere -->\n", re.DOTALL | re.MULTILINE), ""),
    (re.compile(r'\bpip install "\.\[app\]" \./assets(?=\s)'), 'pip install "{name}[app]"'),
    (re.compile(r"\bpip install \.(?=[\s`])"), "pip install {name}"),
    (re.compile(r", in this folder:"), ":"),
)
MOVED_FILES = {  # file of the checkout → file of the package
    "headlight.py": "__init__.py",
    "model/commands/__main__.py": "__main__.py",
    "viz/public/bertviz.py": "bertviz.py",  # where type checkers look for `headlight.bertviz`
    "viz/public/errors.py": "errors.py",
}
LINE_OF_LINK = re.compile(r"^!?\[[^\]]*\]\((?!https?:)[^)\s]+\)\n\n?", re.MULTILINE)  # or of a picture


def description(readme: str, name: str, version: str, repository: str | None) -> str:
    """Return the README for PyPI, whose readers have no checkout."""
    text = FRONT_MATTER.sub("", readme)
    for pattern, instead in CHECKOUT:
        text = pattern.sub(instead.format(name=name), text)
    if repository is None:
        return LINK.sub(r"\1", LINE_OF_LINK.sub("", TABLE_OF_PICTURES.sub("", text)))
    text = PICTURE.sub(rf"![\1]({repository}/raw/v{version}/\2)", text)
    return LINK.sub(rf"[\1]({repository}/blob/v{version}/\2)", text)


def find_repository(citation: str) -> str | None:
    """Return the repository's URL, or None if CITATION.cff has none."""
    match = re.search(r"^repository-code: *[\"']?(https://[^\s\"']+?)/?[\"']?$", citation, re.MULTILINE)
    return match[1] if match else None


def project_urls(repository: str | None, version: str) -> dict[str, str]:
    """Return the links of the page."""
    if repository is None:
        return {}
    changes = f"{repository}/blob/v{version}/CHANGELOG.md"
    return {"Repository": repository, "Changes": changes, "Issues": f"{repository}/issues"}


class CustomBuildHook(BuildHookInterface):
    """The hook of the wheel; hatchling requires this name."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Move the files. An editable installation, which runs the checkout, would import copies of them."""
        if version == "standard":
            build_data["force_include"].update(MOVED_FILES)


class CustomMetadataHook(MetadataHookInterface):
    """The hook of the metadata; hatchling requires this name."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the dynamic fields of pyproject.toml."""
        root = Path(self.root)
        version = re.search(
            r'^__version__ = "(.+)"$', (root / "headlight.py").read_text(encoding="utf-8"), re.MULTILINE
        )
        if version is None:
            raise ValueError("headlight.py has no __version__.")
        repository = find_repository((root / "CITATION.cff").read_text(encoding="utf-8"))
        text = description((root / "README.md").read_text(encoding="utf-8"), metadata["name"], version[1], repository)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = project_urls(repository, version[1])
