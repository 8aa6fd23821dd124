"""Corpora, batches, the loop, evaluation: how a model comes to know what it knows."""
