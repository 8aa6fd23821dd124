"""Arrays as they travel to the browser, where every digit counts; `core/base64-arrays.js` reads them."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt


def encode_array(tensor: npt.NDArray[Any]) -> dict[str, Any]:
    """Float32 in base64, little-endian, and the shape."""
    numbers = np.ascontiguousarray(tensor, dtype="<f4")
    return {"shape": list(tensor.shape), "numbers": base64.b64encode(numbers.tobytes()).decode("ascii")}
