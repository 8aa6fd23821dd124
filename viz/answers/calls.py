"""Wire format between page processes and replicas: one request, a stream of frames back.

A call is packed (`stored.py`): which model, in which revision, what is asked of it, and with what. Frames are a letter,
a length of eight bytes, and as many bytes: progress, the answer, an error in words, a fault, or a sign of life.
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
from headlight.viz.answers.cards import ModelCard
from headlight.viz.answers.stored import PackedError, pack, unpack
from headlight.viz.answers.work import WORK
from headlight.viz.errors import page_error

PROGRESS, ANSWER, ERROR, FAULT, ALIVE = b"p", b"a", b"e", b"x", b"."
STREAM, TRANSLATE = "stream", Translator.translate.__qualname__
LONGEST = 2_000_000_000  # maximum bytes of one frame

LOG = logging.getLogger(__name__)


class Call(NamedTuple):
    """A remote call: model, function name and arguments."""

    kind: str
    name: str
    revision: str
    work: str  # a name of `WORK`, or `STREAM`
    given: tuple[Any, ...]

    @classmethod
    def of(cls, card: ModelCard, work: str, given: tuple[Any, ...]) -> Call:
        """A call of the model of a card."""
        return cls(card.kind, card.name, card.revision, work, given)

    @property
    def model_id(self) -> str:
        """The model in one word, by which requests for it find the replica that has it in memory."""
        return quote(f"{self.kind}:{self.revision}:{self.name}")  # it stands in a header


def packed_call(call: Call) -> bytes:
    """A call as bytes."""
    return pack(tuple(call))


def read_call(body: bytes) -> Call:
    """The call that these bytes hold, or a `PackedError`."""
    found = unpack(body)
    if not isinstance(found, tuple) or len(found) != 5 or not all(isinstance(each, str) for each in found[:4]):
        raise PackedError("no call")
    call = Call(*found)
    if not isinstance(call.given, tuple) or (call.work != STREAM and call.work not in WORK):
        raise PackedError("a call of nothing that is known")
    return call


def frame(letter: bytes, payload: bytes = b"") -> bytes:
    """One frame."""
    return letter + len(payload).to_bytes(8, "little") + payload


def frames_of(call: Call, load: Callable[[], Any], gone: Callable[[], bool]) -> Iterator[bytes]:
    """Run a call and yield its frames. Stops within one step once `gone()` is true."""
    try:
        model = load()
        if call.work == STREAM:
            yield from _stream(model, call, gone)
        elif call.work == TRANSLATE:
            yield frame(ANSWER, pack(model.translate(*call.given, cancelled=gone)))
        else:
            yield frame(ANSWER, pack(WORK[call.work](model, *call.given)))
    except ModelError as error:
        said = page_error(error, model=call.name)
        yield frame(ERROR, pack((said.field, said.word, dict(said.values))))
    except Exception:
        LOG.exception("A call failed.")
        yield frame(FAULT)


def _stream(model: Translator, call: Call, gone: Callable[[], bool]) -> Iterator[bytes]:
    steps: Any = model.stream(*call.given)
    with closing(steps):
        while not gone() and (progress := next(steps, None)) is not None:
            if progress.translation is None:
                yield frame(PROGRESS, pack((progress.step, *progress.read())))
            else:
                yield frame(ANSWER, pack(progress.translation))


def read_frame(read: Callable[[int], bytes]) -> tuple[bytes, bytes] | None:
    """The next frame's letter and payload; nothing at the end. A frame that is cut off is an `EOFError`."""
    head = _exactly(read, 9)
    if not head:
        return None
    length = int.from_bytes(head[1:], "little")
    if length > LONGEST:
        raise EOFError("a frame without an end")
    payload = _exactly(read, length)
    if len(payload) < length:
        raise EOFError("a frame was cut off")
    return head[:1], payload


def progress_of(payload: bytes) -> Progress:
    """The progress that a frame holds."""
    step, text, tokens = unpack(payload)
    return Progress(step, lambda: (text, tokens))


def _exactly(read: Callable[[int], bytes], size: int) -> bytes:
    parts, left = [], size
    while left and (part := read(left)):
        parts.append(part)
        left -= len(part)
    found = b"".join(parts)
    if found and left:
        raise EOFError("a frame was cut off")
    return found
