"""The page's own widgets, each mounted in a `gr.HTML`.

A widget is a folder: one of its modules is mounted, the others are its parts. All may use `parts/`, what several
widgets draw, and `core/`, what everything stands on; neither of these knows a widget.
"""

from viz.widgets.widget import widget

__all__ = ["widget"]
