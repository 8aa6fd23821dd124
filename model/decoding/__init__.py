"""Decoding: rules and samplers for one cached step, and the search algorithms."""
