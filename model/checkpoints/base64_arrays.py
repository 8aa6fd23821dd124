"""Encoding of arrays for the browser without loss of precision; `core/base64-arrays.js` decodes them."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt


def encode_array(tensor: npt.NDArray[Any]) -> dict[str, Any]:
    """Encode an array as its shape and its little-endian float32 numbers in base64."""
    numbers = np.ascontiguousarray(tensor, dtype="<f4")
    return {"shape": list(tensor.shape), "numbers": base64.b64encode(numbers.tobytes()).decode("ascii")}
