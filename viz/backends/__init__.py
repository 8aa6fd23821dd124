"""Where an answer is computed (ZeroGPU, a Ray cluster), and the functions that may be called there by name."""
