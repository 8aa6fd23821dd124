"""The different licences of code and weights are stated in the README, on the page and in model cards."""

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
RESTRICTED_MODELS = sorted(
    path.parent.name for path in MODELS.glob("*/README.md") if RESTRICTED in path.read_text(encoding="utf-8")
)


def test_readme_states_non_commercial_licence() -> None:
    assert RESTRICTED_MODELS == ["de-en", "en-de", "en-zh", "sentiment", "zh-en"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    matter = dict(re.findall(r"^(\w+): (.+)$", readme.split("---")[1], re.MULTILINE))
    assert matter["license"] == "other"
    assert "non-commercial" in matter["license_name"]
    assert (ROOT / matter["license_link"]).is_file()
    assert len(matter["license_name"]) < 60
    section = readme.partition("## Licence")[2].partition("\n## ")[0]
    assert {f"`{name}`" for name in RESTRICTED_MODELS} <= set(re.findall(r"`[\w-]+`", section))
    assert "non-commercial" in section
    assert "Apache-2.0" in section


def test_licences_file_covers_every_model() -> None:
    text = (ROOT / "LICENSES.md").read_text(encoding="utf-8")
    for card in MODELS.glob("*/README.md"):
        line = next(line for line in text.splitlines() if f"`{card.parent.name}`" in line)
        assert (RESTRICTED in line) == (card.parent.name in RESTRICTED_MODELS), card.parent.name


@pytest.mark.parametrize("language", ["en", "zh"])
def test_page_footer_states_both_licences(language: str) -> None:
    words = json.loads((ROOT / "assets" / "words" / f"{language}.json").read_text(encoding="utf-8"))
    assert "Apache-2.0" in words["footer_licence"]
    assert {"en": "non-commercial", "zh": "非商业"}[language] in words["footer_licence"]
    assert "footer_licence" in (ROOT / "viz" / "widgets" / "layout" / "footer.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in RESTRICTED_MODELS if name != "sentiment"])
def test_cards_attribute_training_sentences(name: str) -> None:
    card = (MODELS / name / "README.md").read_text(encoding="utf-8")
    assert "ManyThings (https://www.manythings.org/anki/)" in card
    assert "attribution to tatoeba.org and www.manythings.org/anki" in card


@pytest.mark.parametrize("name", sorted(path.parent.name for path in MODELS.glob("*/SHA256SUMS")))
def test_checksum_tool_accepts_sha256sums(name: str) -> None:
    process = subprocess.run([*SHA256SUM, "--check", "--quiet", "SHA256SUMS"], cwd=MODELS / name, check=False)
    assert process.returncode == 0
