"""What builds and measures Headlight and is not part of the package: training data, benchmarks, the installer."""
