"""Server side of the page: widget calls, event streams, static files, visitors."""
