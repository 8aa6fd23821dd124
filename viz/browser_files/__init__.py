"""Files for the browser: bundled modules, style sheets, Plotly's script, pictures. No web server.

The page, stand-alone pages and notebooks use the same files.
"""
