"""Deployment to a Hugging Face Space: its files, the Hub's rules and the upload."""
