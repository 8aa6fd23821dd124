"""Benchmarks of Headlight against alternatives: `make bench`, or `python -m workshop.benchmarks --help`."""
