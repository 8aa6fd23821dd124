"""Recognition of unsupported weight formats by file names, for error messages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

# File name pattern → description of the format; the first match counts.
FORMAT_PATTERNS = (
    (r"adapter_config\.json|adapter_model\.(safetensors|bin)", "only an adapter for another model"),
    (r"tf_model.*\.h5|tf_model\.h5\.index\.json|saved_model\.pb", "only TensorFlow weights"),
    (r"flax_model.*\.msgpack|flax_model\.msgpack\.index\.json", "only Flax weights"),
    (r".*\.onnx(_data)?", "only ONNX weights"),
    (r".*\.gguf", "only GGUF weights"),
    (r"rust_model\.ot", "only rust-bert weights"),
    (r".*\.npz", "only weights for the Marian toolkit"),
    (r"model\.bin", "only CTranslate2 weights"),
)
ADVICE_BY_FORMAT = (
    "Only safetensors and pytorch_model.bin are read. Choose a model that offers one of them, or load this one with "
    "`transformers`, if it supports the format, and save it with `save_pretrained`."
)
READABLE_FILES = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)


def unsupported_format(files: Path | Iterable[str]) -> str:
    """Return the format of files without readable weights; empty if it is unknown or some weights are readable."""
    if isinstance(files, Path):
        folder = files
        paths = (path for pattern in ("*", "onnx/*") for path in folder.glob(pattern))
        files = [path.relative_to(folder).as_posix() for path in paths if path.is_file()]
    names = sorted(files)
    if not set(names).isdisjoint(READABLE_FILES):
        return ""
    for pattern, description in FORMAT_PATTERNS:
        for name in names:
            if re.fullmatch(pattern, name.rpartition("/")[2]):
                return f"it contains {description} ({name})."
    return ""
