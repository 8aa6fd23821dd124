"""Measures of attention and of text: NumPy in, NumPy out. This package does not run models."""
