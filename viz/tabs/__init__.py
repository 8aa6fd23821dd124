"""The panels of the page, one module each, and the views that group them."""

from __future__ import annotations

from collections.abc import Callable, Collection

from headlight.viz.server.calls import CallTable
from headlight.viz.service.service import Service
from headlight.viz.tabs.attribution import build as build_word
from headlight.viz.tabs.classifier import build as build_sentiment
from headlight.viz.tabs.decoding import build as build_decoding
from headlight.viz.tabs.heads import build as build_heads
from headlight.viz.tabs.learn import build as build_learn
from headlight.viz.tabs.models import build as build_models
from headlight.viz.tabs.own_file import build as build_own
from headlight.viz.tabs.positions import build as build_positions
from headlight.viz.tabs.two_models import build as build_beside
from headlight.viz.tabs.whatif import build as build_whatif
from headlight.viz.tabs.why import build as build_why

Tab = Callable[[Service, CallTable], object]  # builds the tab inside a `gr.Blocks`
TABS: dict[str, Tab] = {
    "heads": build_heads,
    "whatif": build_whatif,
    "learn": build_learn,
    "beside": build_beside,
    "own": build_own,
    "positions": build_positions,
    "decoding": build_decoding,
    "word": build_word,
    "why": build_why,
    "sentiment": build_sentiment,
    "models": build_models,
}
# The views of the header, each with its panels; a permalink names a panel.
VIEWS: dict[str, tuple[str, ...]] = {
    "see": ("heads", "beside", "own"),
    "change": ("whatif",),
    "why": ("word", "why", "decoding"),
    "learn": ("learn", "positions", "sentiment"),
    "models": ("models",),
}


def panels_by_view(panels: Collection[str]) -> dict[str, list[str]]:
    """Group the panels of a page by view; views without panels are left out."""
    views = {view: [name for name in names if name in panels] for view, names in VIEWS.items()}
    return {view: names for view, names in views.items() if names}
