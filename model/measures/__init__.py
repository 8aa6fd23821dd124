"""What arrays say: NumPy in, NumPy out. Nothing here runs a model."""
