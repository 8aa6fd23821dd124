"""What only a static Space needs: a README.md whose front matter configures it."""

from __future__ import annotations

CARD = {
    "title": "Headlight",
    "emoji": "🔦",
    "colorFrom": "blue",
    "colorTo": "yellow",
    "sdk": "static",
    "license": "other",
    "license_name": "apache-2.0-code-non-commercial-weights",
    "short_description": "See where every attention head of a translator looks",
    "header": "default",
}
TEXT = """# Headlight

A Transformer translates in your browser and shows what every attention head attended to. The code has the licence
Apache-2.0; the weights are for research and education, non-commercial.
"""


def space_readme() -> bytes:
    """Return the README.md."""
    lines = [f"{key}: {value}" for key, value in CARD.items()]
    return "\n".join(["---", *lines, "---", TEXT]).encode()
