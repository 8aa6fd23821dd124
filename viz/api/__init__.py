"""The public API, `/translate` and `/attention`, and limits on requests."""
