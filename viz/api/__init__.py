"""The API for other programs, `/translate` and `/attention`, and the limits on requests."""
