"""Choosing words: one cached step, and the ways to search with it."""
