"""A sentence: the search's best translation by `de-en` lacks a word that the one has which both models choose.

And one where the way back hides what a change does: without this head the search's best translation is worse than the
one that both models choose.
"""

SENTENCE = "Moritz spielt Geige und Annika Schlagzeug."
CHOSEN = "drums"

BROKEN = "Der Hund, den ich gestern gesehen habe, schläft."
OFF = {"action": "remove", "kind": "cross", "layer": 0, "head": 3}
