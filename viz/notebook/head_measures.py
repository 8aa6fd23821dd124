"""`headlight.measure` and `headlight.roles`: measures and roles of the attention heads of any model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headlight.model.recordings.recording import RecordingError
from headlight.model.recordings.recording_measures import measure_recording
from headlight.model.records import FloatArray, MapKind
from headlight.viz.notebook.display import record

if TYPE_CHECKING:
    from headlight.model.recordings.recording_roles import HeadRole


def measure(
    attention: Any,
    tokenizer: Any = None,
    text: str | None = None,
    *,
    kind: MapKind | None = None,
    **options: Any,
) -> dict[str, FloatArray]:
    """Return the measures of every head, name → `[layer, head]`, such as "entropy", "previous" and "induction".

    The arguments are those of `show`. `kind` selects the kind of attention if there are several. "first" is the share
    of the attention sink. A measure is NaN if the text has no such token; "induction" needs a text with repetitions.
    """
    recording = record(attention, tokenizer, text, **options)
    kinds = recording.kinds
    if (kind is None and len(kinds) > 1) or (kind is not None and kind not in kinds):
        raise RecordingError(f"kind must be one of {', '.join(kinds)}, but {kind!r} was given.")
    return measure_recording(recording, kinds[0] if kind is None else kind)


def roles(model: Any, tokenizer: Any, sentences: Sequence[str], **options: Any) -> list[HeadRole]:
    """Return the role of each head over the sentences. `options` are those of `show`, such as `generate`.

    `targets`: for an encoder-decoder model, one target text per sentence.
    """
    from headlight.model.recordings.recording_roles import roles_of_recordings

    if isinstance(sentences, str):
        raise RecordingError("sentences is one text. Give a list: roles(model, tokenizer, ['a sentence', 'another']).")
    targets = options.pop("targets", None) or [None] * len(sentences)
    if len(targets) != len(sentences):
        raise RecordingError(f"There are {len(sentences)} sentences and {len(targets)} targets. Give one for each.")
    pairs = zip(sentences, targets, strict=True)
    return roles_of_recordings([record(model, tokenizer, text, target=target, **options) for text, target in pairs])
