"""How Python and the browser's modules talk: calls, static files, visitors."""
