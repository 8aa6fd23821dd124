"""`headlight.show`, `compare` and `figure`: any model's attention in a notebook, and as a stand-alone page.

What is drawn is the page's own view of heads, in a frame: `frame` makes its page, `values` what it shows, `widget`
joins it with Python where notebooks serve widgets, `still` is the picture where no script runs.
"""
