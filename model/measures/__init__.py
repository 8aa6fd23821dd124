"""Measures of attention and of text: NumPy in, NumPy out. Nothing here runs a model."""
