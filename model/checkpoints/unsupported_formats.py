"""Recognises unsupported weight formats by file names, for the error message."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

# A pattern of file names, and the format; the first match counts.
FORMAT_PATTERNS = (
    (r"adapter_config\.json|adapter_model\.(safetensors|bin)", "an adapter, which changes another model and is none"),
    (r"tf_model.*\.h5|tf_model\.h5\.index\.json|saved_model\.pb", "weights of TensorFlow alone"),
    (r"flax_model.*\.msgpack|flax_model\.msgpack\.index\.json", "weights of Flax alone"),
    (r".*\.onnx(_data)?", "weights in the form of ONNX alone"),
    (r".*\.gguf", "weights in the form of GGUF alone"),
    (r"rust_model\.ot", "weights of rust-bert alone"),
    (r".*\.npz", "weights of Marian's own program alone"),
    (r"model\.bin", "weights of CTranslate2 alone"),
)
ADVICE_BY_FORMAT = (
    "Only safetensors and pytorch_model.bin are read. Choose a model that offers one of them, or load this one with "
    "`transformers` where that can, and write it anew with its `save_pretrained`."
)
READABLE = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")


def unsupported_format(files: Path | Iterable[str]) -> str:
    """The format of a list of file names without weights that we read; empty if unknown."""
    if isinstance(files, Path):
        folder = files
        listed = (path for pattern in ("*", "onnx/*") for path in folder.glob(pattern))
        files = [path.relative_to(folder).as_posix() for path in listed if path.is_file()]
    names = sorted(files)
    if not set(names).isdisjoint(READABLE):
        return ""
    for pattern, words in FORMAT_PATTERNS:
        for name in names:
            if re.fullmatch(pattern, name.rpartition("/")[2]):
                return f"it holds {words} ({name})."
    return ""
