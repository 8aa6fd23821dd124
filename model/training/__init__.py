"""Training: corpora, batches, the loop, evaluation."""
