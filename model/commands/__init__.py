"""The commands of `python -m headlight`, one module each."""
