"""Text ↔ ids: cleaning, segmentation, tokenizers, languages."""
