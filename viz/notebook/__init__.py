"""`headlight.show`, `compare` and `figure`: any model's attention in a notebook, and as a stand-alone page.

They render the page's head view in an iframe: `iframe` builds its HTML, `recording_json` its data, `widget` connects it
to Python in notebooks with widgets, and `thumbnail` draws a picture for viewers without scripts.
"""
