"""The upper floor: what the model did, drawn. It changes no number's meaning."""
