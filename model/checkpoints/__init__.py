"""Files ↔ a model: checkpoints, storage, checksums, and a translation as files."""
