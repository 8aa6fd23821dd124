"""Backends on ZeroGPU and on a Ray cluster, and the functions that they may run."""
