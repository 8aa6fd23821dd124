"""Wire format between page processes and replicas: one request, a stream of frames back.

A call (`record_codec.py`) contains the model, its revision, the function and its arguments. A frame is a one-letter
type, the length of the payload in eight bytes, and the payload. The types are progress, the answer, a user error, an
internal error and a heartbeat.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, NamedTuple
from urllib.parse import quote

from headlight.model.errors import ModelError
from headlight.model.records import Progress
from headlight.model.translate.translator import Translator
from headlight.viz.backends.remote_functions import REMOTE_FUNCTIONS
from headlight.viz.errors import to_page_error
from headlight.viz.service.model_cards import ModelCard
from headlight.viz.service.record_codec import DecodeError, decode, encode

PROGRESS, ANSWER, ERROR, INTERNAL_ERROR, HEARTBEAT = b"p", b"a", b"e", b"x", b"."
STREAM, TRANSLATE = "stream", Translator.translate.__qualname__
MAX_FRAME_BYTES = 2_000_000_000

LOG = logging.getLogger(__name__)


class RemoteCall(NamedTuple):
    """A remote call: model, function name and arguments."""

    kind: str
    name: str
    revision: str
    function: str  # a key of `REMOTE_FUNCTIONS`, or `STREAM`
    arguments: tuple[Any, ...]

    @classmethod
    def for_model(cls, card: ModelCard, function: str, arguments: tuple[Any, ...]) -> RemoteCall:
        """Create a call for the model of a card."""
        return cls(card.kind, card.name, card.revision, function, arguments)

    @property
    def model_id(self) -> str:
        """Identifier of the model, by which Ray Serve routes calls to a replica that has loaded it."""
        return quote(f"{self.kind}:{self.revision}:{self.name}")  # quoted for use in a header


def encode_call(call: RemoteCall) -> bytes:
    """Encode a call."""
    return encode(tuple(call))


def decode_call(body: bytes) -> RemoteCall:
    """Decode a call. Raises `DecodeError` for invalid bytes."""
    result = decode(body)
    if not isinstance(result, tuple) or len(result) != 5 or not all(isinstance(part, str) for part in result[:4]):
        raise DecodeError("it is not a call")
    call = RemoteCall(*result)
    if not isinstance(call.arguments, tuple) or (call.function != STREAM and call.function not in REMOTE_FUNCTIONS):
        raise DecodeError("the function is unknown")
    return call


def encode_frame(letter: bytes, payload: bytes = b"") -> bytes:
    """Encode one frame."""
    return letter + len(payload).to_bytes(8, "little") + payload


def run_call(call: RemoteCall, load: Callable[[], Any], is_cancelled: Callable[[], bool]) -> Iterator[bytes]:
    """Run a call and yield its frames. Stops within one step once `is_cancelled()` is true."""
    try:
        model = load()
        if call.function == STREAM:
            yield from _stream(model, call, is_cancelled)
        elif call.function == TRANSLATE:
            yield encode_frame(ANSWER, encode(model.translate(*call.arguments, cancelled=is_cancelled)))
        else:
            yield encode_frame(ANSWER, encode(REMOTE_FUNCTIONS[call.function](model, *call.arguments)))
    except ModelError as error:
        page_error = to_page_error(error, model=call.name)
        yield encode_frame(ERROR, encode((page_error.field, page_error.word, dict(page_error.values))))
    except Exception:
        LOG.exception("A call failed.")
        yield encode_frame(INTERNAL_ERROR)


def _stream(model: Translator, call: RemoteCall, is_cancelled: Callable[[], bool]) -> Iterator[bytes]:
    steps: Any = model.stream(*call.arguments)
    with closing(steps):
        while not is_cancelled() and (progress := next(steps, None)) is not None:
            if progress.translation is None:
                yield encode_frame(PROGRESS, encode((progress.step, *progress.decode())))
            else:
                yield encode_frame(ANSWER, encode(progress.translation))


def read_frame(read: Callable[[int], bytes]) -> tuple[bytes, bytes] | None:
    """Read the next frame: letter and payload, or None at the end. Raises `EOFError` for a truncated frame."""
    header = _read_exactly(read, 9)
    if not header:
        return None
    length = int.from_bytes(header[1:], "little")
    if length > MAX_FRAME_BYTES:
        raise EOFError("a frame is too long")
    payload = _read_exactly(read, length)
    if len(payload) < length:
        raise EOFError("a frame was cut off")
    return header[:1], payload


def decode_progress(payload: bytes) -> Progress:
    """Decode the payload of a progress frame."""
    step, text, tokens = decode(payload)
    return Progress(step, lambda: (text, tokens))


def _read_exactly(read: Callable[[int], bytes], size: int) -> bytes:
    chunks, remaining = [], size
    while remaining and (chunk := read(remaining)):
        chunks.append(chunk)
        remaining -= len(chunk)
    result = b"".join(chunks)
    if result and remaining:
        raise EOFError("a frame was cut off")
    return result
