"""Model folders and files: checkpoints, storage of weights, checksums, reports, exported translations."""
