"""Sentences whose best translation by `de-en` changes with reranking.

For `SENTENCE`, only the reranked translation has the word `CHOSEN`. For `BROKEN`, reranking hides the effect of an
intervention: with the head `OFF` removed, the best hypothesis of the search is worse than the reranked one.
"""

SENTENCE = "Moritz spielt Geige und Annika Schlagzeug."
CHOSEN = "drums"

BROKEN = "Der Hund, den ich gestern gesehen habe, schläft."
OFF = {"action": "remove", "kind": "cross", "layer": 0, "head": 3}
