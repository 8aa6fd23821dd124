"""The Hub's rules: violations of a Space are reported before the upload."""

from __future__ import annotations

from pathlib import Path

import pytest

import headlight
from headlight.viz.settings import load_hub_list
from headlight.viz.space import command, rules
from headlight.viz.space.files import find_space_files
from tests.space_server import card_errors, is_binary

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def find_faults(tmp_path: Path, before: str, after: str, hardware: str | None = None) -> list[str]:
    """The faults of the README after one replacement."""
    assert before in README
    (tmp_path / "README.md").write_text(README.replace(before, after, 1), encoding="utf-8")
    return list(rules.faults({**find_space_files(ROOT), "README.md": tmp_path / "README.md"}, hardware))


def test_repository_follows_hub_rules() -> None:
    assert list(rules.faults(find_space_files(ROOT))) == []
    assert list(rules.faults(find_space_files(ROOT), "zero-a10g")) == []
    assert card_errors(README) == []


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("colorFrom: blue", "colorFrom: orange", "colorFrom is 'orange', but must be one of red"),
        ("sdk: gradio", "sdk: streamlit", "sdk is 'streamlit', but must be one of gradio"),
        ("short_description: ", "short_description: Rather a long text, ", "characters, but at most 60"),
    ],
)
def test_hub_rule_violations_are_reported_before_upload(tmp_path: Path, before: str, after: str, fault: str) -> None:
    (error_info,) = find_faults(tmp_path, before, after)
    assert fault in error_info
    assert card_errors((tmp_path / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("app_file: app.py", "app_file: main.py", "app_file is main.py, which is not among the Space's files"),
        ("license_link: LICENSES.md", "license_link: TERMS.md", "license_link is TERMS.md"),
        ("sdk_version: ", "sdk_version: 5", "but requirements.txt pins gradio"),
        ("title: Headlight", "titel: Headlight", "titel is not a key"),
        ("title: Headlight", "titel: Headlight", "title is missing"),
        ('python_version: "3.12"', "python_version: 3.12", "python_version is 3.12, but must be text"),
        ('python_version: "3.12"', 'python_version: "three"', "must be 3.x or 3.x.x"),
        ("emoji: 🔦", "emoji: lamp", "must be an emoji"),
        ("title: Headlight", "title: Headlight\nthumbnail: docs/images/hero.webp", "must be an address"),
        ("title: Headlight", "title: [Headlight", "the front matter cannot be read"),
        ("---\ntitle", "title", "README.md has no front matter"),
        ("docs/images/hero.webp", "docs/images/none.webp", "README.md"),
    ],
)
def test_startup_problems_are_reported(tmp_path: Path, before: str, after: str, fault: str) -> None:
    if "none.webp" in after:  # the README itself is in the list of files
        files = {**find_space_files(ROOT), "docs/images/none.webp": ROOT / "docs" / "images" / "none.webp"}
        assert list(rules.faults(files)) == ["docs/images/none.webp is missing."]
    else:
        assert any(fault in error_info for error_info in find_faults(tmp_path, before, after))


def test_zerogpu_python_versions_are_checked(tmp_path: Path) -> None:
    assert find_faults(tmp_path, '"3.12"', '"3.11"') == []
    (error_info,) = find_faults(tmp_path, '"3.12"', '"3.11"', "zero-a10g")
    assert "python_version is 3.11, but ZeroGPU has 3.10, 3.12" in error_info


def test_binary_and_large_files_are_classified_like_hub(tmp_path: Path) -> None:
    for name, content in {
        "text": "Wo ist der Bahnhof? 火车站在哪里？".encode() * 200,
        "cut": b"a" * 511 + "的".encode(),  # the sample ends within a character
        "zero": b"text\0",
        "image": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
        "empty": b"",
    }.items():
        path = tmp_path / name
        path.write_bytes(content)
        assert rules.needs_large_storage(path) == is_binary(content[:512]) == (name in ("zero", "image")), name
    (tmp_path / "long").write_bytes(b"a\n" * 5_000_001)
    assert rules.needs_large_storage(tmp_path / "long")


def test_dry_run_lists_and_checks_without_token(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nothing listens there
    assert headlight.main(["space", "ada/headlight", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(find_space_files(ROOT)) + 2
    assert f"{(ROOT / 'app.py').stat().st_size:>11,}  git  app.py" in lines
    assert any(line.endswith("Xet  assets/models/de-en/model-00001-of-00002.safetensors") for line in lines)
    assert lines[-1] == "The files follow the Hub's rules. Nothing was sent."


def test_dry_run_reports_rejected_files(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "find_space_files", lambda *values: {"README.md": ROOT / "README.md"})
    assert headlight.main(["space", "ada/headlight", "--dry-run"]) == 2
    assert "The Hub would refuse ada/headlight: README.md: app_file is app.py" in capsys.readouterr().err


def test_front_matter_lists_allowed_models() -> None:
    card = rules._read_front_matter(ROOT / "README.md")
    assert isinstance(card, dict)
    assert card["models"] == [each["id"] for each in load_hub_list()]
