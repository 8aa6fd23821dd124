"""A Space on Hugging Face: which files it gets, what the Hub refuses, and the upload."""
