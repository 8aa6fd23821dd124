"""Attacks, load, faults, a soak and mutants, each with a bound: `make trust`, or `python -m workshop.trust --help`."""
