"""What lies in `assets/models/`: whole, small enough to push, described by its card, and as good as the card says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from model.checkpoint import kind_of_folder, read_checkpoint
from model.checksums import files_in_words
from model.classifier import SelfAttentionClassifier
from model.judge import Judge
from model.transformer import Transformer

MODELS = Path(__file__).resolve().parents[1] / "assets" / "models"
FOLDERS = sorted(path.name for path in MODELS.iterdir() if path.is_dir())
CLASSES = {"transformer": Transformer, "classifier": SelfAttentionClassifier}
MEGABYTE = 1_000_000


@pytest.mark.parametrize("name", FOLDERS)
def test_every_folder_loads_and_matches_its_checksums(name: str) -> None:
    loaded = read_checkpoint(MODELS / name, CLASSES[kind_of_folder(MODELS / name)], verify=True)
    assert loaded.fingerprint


@pytest.mark.parametrize("name", FOLDERS)
def test_every_card_names_the_very_files_it_lies_beside(name: str) -> None:
    card = (MODELS / name / "README.md").read_text(encoding="utf-8")
    assert files_in_words(MODELS / name) in card
    for part in ("licence", "python -m model train", "seed"):
        assert part.lower() in card.lower(), f"the card of {name} does not mention: {part}"


def test_files_are_small_enough_for_a_plain_push() -> None:
    sizes = {path: path.stat().st_size for path in MODELS.rglob("*") if path.is_file()}
    assert max(sizes.values()) < 10 * MEGABYTE
    assert sum(sizes.values()) < 44 * MEGABYTE


def test_the_judge_of_films_is_small_and_right_about_plain_words() -> None:
    folder = MODELS / "sentiment"
    assert sum(path.stat().st_size for path in folder.iterdir()) < 6 * MEGABYTE
    judge = Judge.load(folder, device="cpu")
    for text in ("A quiet film with a warm heart.", "What a wonderful, touching story!", "The cast is superb."):
        assert judge.judge(text).verdict == "positive", text
    for text in (
        "It's long, loud and dull.",
        "A complete waste of time.",
        "The plot is stupid and the acting is awful.",
    ):
        assert judge.judge(text).verdict == "negative", text


@pytest.mark.parametrize(("text", "probability"), [("It is not a good film.", 0.66), ("The weather was nice.", 0.90)])
def test_failures_that_the_card_admits_are_true(text: str, probability: float) -> None:
    card = (MODELS / "sentiment" / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"{re.escape(text)}\"[^.]*?\(?0?{probability:.2f}".replace("0?0", "0"), card)
    assert Judge.load(MODELS / "sentiment", device="cpu").judge(text).probability == pytest.approx(
        probability, abs=0.01
    )
