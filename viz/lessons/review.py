"""The review that a visitor selects or writes, for the lesson on classification."""

from __future__ import annotations

from headlight.viz.lessons.controls import Choice, TextInput
from headlight.viz.lessons.experiment import ExperimentInput

REVIEWS = {
    "mixed": "The pictures are wonderful, but the story is dull.",
    "denial": "It is not bad at all, and I was never bored.",
    "praise": "A quiet film with a warm heart.",
}

REVIEW = Choice("review", (*REVIEWS, "own"), "mixed")
OWN = TextInput("own", max_length=160, start="I did not like it, and nobody laughed.", visible_if=("review", "own"))


def get_review_text(inputs: ExperimentInput) -> str:
    """Return the selected review, or the visitor's own."""
    name = inputs.values["review"]
    return str(inputs.values["own"]) if name == "own" else REVIEWS[name]
