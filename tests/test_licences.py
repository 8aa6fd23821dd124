"""Code and weights have different terms: whoever serves the app and whoever visits it can read that."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.sums import SHA256SUM

ROOT = Path(__file__).resolve().parents[1]
MODELS = ROOT / "assets" / "models"
RESTRICTED = "research and education, non-commercial"
BOUND = sorted(
    path.parent.name for path in MODELS.glob("*/README.md") if RESTRICTED in path.read_text(encoding="utf-8")
)


def test_the_readme_claims_no_free_licence_for_a_space_with_restricted_weights() -> None:
    assert BOUND == ["de-en", "en-de", "en-zh", "fr-en", "sentiment", "zh-en"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    matter = dict(re.findall(r"^(\w+): (.+)$", readme.split("---")[1], re.MULTILINE))
    assert matter["license"] == "other"
    assert "non-commercial" in matter["license_name"]
    assert (ROOT / matter["license_link"]).is_file()
    assert len(matter["license_name"]) < 60
    section = readme.partition("## Licence")[2].partition("\n## ")[0]
    assert {f"`{name}`" for name in BOUND} <= set(re.findall(r"`[\w-]+`", section))
    assert "non-commercial" in section
    assert "Apache-2.0" in section


def test_one_file_says_the_terms_of_every_model() -> None:
    said = (ROOT / "LICENSES.md").read_text(encoding="utf-8")
    for card in MODELS.glob("*/README.md"):
        line = next(line for line in said.splitlines() if f"`{card.parent.name}`" in line)
        assert (RESTRICTED in line) == (card.parent.name in BOUND), card.parent.name


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_says_both(language: str) -> None:
    words = json.loads((ROOT / "assets" / "words" / f"{language}.json").read_text(encoding="utf-8"))
    assert "Apache-2.0" in words["footer_licence"]
    assert {"en": "non-commercial", "zh": "非商业"}[language] in words["footer_licence"]
    assert "footer_licence" in (ROOT / "viz" / "widgets" / "layout" / "footer.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in BOUND if name != "sentiment"])
def test_cards_name_those_whose_sentences_were_learnt_from(name: str) -> None:
    card = (MODELS / name / "README.md").read_text(encoding="utf-8")
    assert "ManyThings (https://www.manythings.org/anki/)" in card
    assert "attribution to tatoeba.org and www.manythings.org/anki" in card


@pytest.mark.parametrize("name", sorted(path.parent.name for path in MODELS.glob("*/SHA256SUMS")))
def test_checksums_are_those_of_the_tool_for_cards_too(name: str) -> None:
    ran = subprocess.run([*SHA256SUM, "--check", "--quiet", "SHA256SUMS"], cwd=MODELS / name, check=False)
    assert ran.returncode == 0
