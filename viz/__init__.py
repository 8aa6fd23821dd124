"""The web UI: figures, widgets and files from model results."""
