"""What `python -m model` can do, one file a command."""
