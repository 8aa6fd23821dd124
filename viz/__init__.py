"""The web UI: turns model results into figures, widgets and files."""
