"""The page's own widgets: each is one module of JavaScript beside this file, mounted in a `gr.HTML`."""

from viz.widgets.widget import widget

__all__ = ["widget"]
