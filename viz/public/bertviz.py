"""`headlight.bertviz`: the calls of BertViz, drawn by Headlight.

    from headlight.bertviz import head_view, model_view, neuron_view

Arguments have BertViz's names, order and defaults. `docs/notebooks.md` lists the differences.
"""

from __future__ import annotations

import sys

from headlight.viz.notebook import neuron_view
from headlight.viz.notebook.bertviz_calls import head_view, model_view

__all__ = ["head_view", "model_view", "neuron_view"]

# `from headlight.bertviz.neuron_view import show`, although this module is a file and not a folder.
sys.modules[f"{__name__}.neuron_view"] = neuron_view
