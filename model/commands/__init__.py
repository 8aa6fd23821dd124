"""What `python -m headlight` can do, one file a command."""
