"""Training data: sentences and reviews from templates, sentences labelled by classifiers, lines to back-translate."""
