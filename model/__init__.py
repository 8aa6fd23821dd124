"""The ground floor: text → translation, with every number the Transformer used on the way. No Gradio, no Plotly.

To understand attention, read in this order, in one evening:

    masks → attention → positions → blocks → transformer → decoding

and look names of axes up here:

    batch       sentences computed together; shorter ones are padded, and padding is masked
    heads       attentions side by side, each with a space of its own
    queries     the tokens that look: rows of a map, which sum to one
    keys        the tokens that are looked at: columns of a map
    tokens      places in a sentence, where rows and columns are the same
    width       numbers in a vector: d_model of the stream, d_model / heads of one head ("head width")
    vocabulary  the sub-words a model knows

Names are imported when they are first used, so that drawing a figure never loads PyTorch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from model.config import TransformerConfig
    from model.judge import Judge
    from model.probes import watch
    from model.records import DecodingOptions, Intervention, Translation, TranslationRequest
    from model.transformer import Transformer
    from model.translator import Translator

_HOMES = {
    "DecodingOptions": "model.records",
    "Intervention": "model.records",
    "Judge": "model.judge",
    "Transformer": "model.transformer",
    "TransformerConfig": "model.config",
    "Translation": "model.records",
    "TranslationRequest": "model.records",
    "Translator": "model.translator",
    "watch": "model.probes",
}
__all__ = [
    "DecodingOptions",
    "Intervention",
    "Judge",
    "Transformer",
    "TransformerConfig",
    "Translation",
    "TranslationRequest",
    "Translator",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
