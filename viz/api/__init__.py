"""The public API, `/translate`, `/attention`, `/effects` and `/scan`, and limits on requests."""
