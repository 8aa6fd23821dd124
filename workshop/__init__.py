"""Development tools outside the package: training data, benchmarks and the installer of `make`."""
