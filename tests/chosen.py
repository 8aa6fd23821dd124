"""A sentence: the search's best translation by `de-en` lacks a word that the one has which both models choose."""

SENTENCE = "Moritz spielt Geige und Annika Schlagzeug."
CHOSEN = "drums"
