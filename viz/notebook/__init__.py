"""`headlight.show`, `compare` and `figure`: the attention of any model in a notebook or as a stand-alone page.

They render the page's head view in an iframe. `iframe` builds its HTML and `recording_json` its data. `widget` connects
it to Python in notebooks with widgets. `thumbnail` renders an image for viewers without scripts.
"""
