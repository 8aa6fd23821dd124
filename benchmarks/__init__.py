"""Benchmarks of Headlight against alternatives: `make bench`, or `python -m benchmarks --help`."""
