"""Runs a model of `transformers` on a text or an image and records its attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

from headlight.model.recordings.recording import Recording, RecordingError, Remark, did_you_mean, require_index
from headlight.model.recordings.transformers_outputs import INPUT_NAMES

MODEL_OPTIONS = ("text", "text_pair", "image", "generate", "part")  # allowed for a model, not for its outputs
SELECTION_OPTIONS = ("kind", "layer", "head", "row", "column", "language")  # of `show`


def model_recordings(
    model: Any,
    *,
    tokenizer: Any = None,
    text: str | Sequence[str] | None = None,
    text_pair: str | None = None,
    image: Any = None,
    target: str | Sequence[str] | None = None,
    generate: Any = None,
    part: str | None = None,
    layers: Sequence[int] | None = None,
    batch: int | None = None,
    name: str = "",
    **options: Any,
) -> list[Recording]:
    """Run a model of `transformers` and return its attention, with two recordings for a model such as CLIP."""
    # Imported here because it loads PyTorch, which arrays do not need.
    from headlight.model.external.model_inputs import Example
    from headlight.model.external.runs import run_model

    names: dict[str, Any] = {side: options.pop(side) for side in ("source", "tokens") if side in options}
    names |= {} if target is None or isinstance(target, str) else {"target": target}
    _require_model_inputs(options)
    sentence, remarks = _select_sentence(text, batch)
    example = Example(
        text=sentence,
        text_pair=text_pair,
        image=image,
        target=target if isinstance(target, str) else None,
        tensors=options,
    )
    runs = run_model(model, tokenizer, example, generate=generate, part=part)
    recordings = [run.recording(layers=layers, **names) for run in runs]
    return [
        replace(recording, name=name or recording.name, remarks=(*remarks, *recording.remarks))
        for recording in recordings
    ]


def _select_sentence(text: str | Sequence[str] | None, batch: int | None) -> tuple[str | None, list[Remark]]:
    """Return the selected sentence and remarks on it. The model reads one sentence, so no padding is needed."""
    if text is None or isinstance(text, str):
        if batch is not None:
            raise RecordingError("batch= selects one of several sentences, but there is one. Leave it out.")
        return text, []
    number = require_index("batch", 0 if batch is None else batch, range(len(text)))
    has_others = batch is None and len(text) > 1
    return text[number], [Remark("batch", {"number": 1, "count": len(text)})] if has_others else []


def _require_model_inputs(options: Mapping[str, Any]) -> None:
    """Raise a `RecordingError` for arguments that are not inputs of a model."""
    known_names = {*signature(model_recordings).parameters, *SELECTION_OPTIONS, *INPUT_NAMES}
    for option, value in options.items():
        if option in SELECTION_OPTIONS:
            raise RecordingError(f"{option}= selects what show() opens, and would be ignored here. Leave it out.")
        if not hasattr(value, "shape") and option not in INPUT_NAMES:
            raise RecordingError(
                f"Unknown argument {option!r}.{did_you_mean(option, known_names)} "
                f"A model takes {', '.join(('text', *MODEL_OPTIONS[1:], 'target'))} and its inputs as tensors."
            )


def single_recording(recordings: Sequence[Recording]) -> Recording:
    """Return the only recording; raise a `RecordingError` for a model with two encoders, such as CLIP."""
    if len(recordings) > 1:
        parts = [recording.name.rpartition(": ")[2] for recording in recordings]
        raise RecordingError(f"The model has {len(parts)} parts, {', '.join(parts)}. Choose one: part={parts[0]!r}.")
    return recordings[0]
