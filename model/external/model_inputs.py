"""Inputs of a model from a text or an image, with the special tokens and the fields that the model expects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

import torch

from headlight.model.recordings.recording import RecordingError

ModelTensors = dict[str, torch.Tensor]
POSITION_LIMITS = ("max_position_embeddings", "n_positions", "seq_length")


@dataclass(frozen=True, kw_only=True)
class Example:
    """The input of a model: a text, two texts, an image, or tensors. `target` is the text of the decoder."""

    text: str | None = None
    text_pair: str | None = None
    image: Any = None
    target: str | None = None
    tensors: Mapping[str, Any] | None = None  # inputs that the user has prepared, such as `input_features`


def prepare_inputs(model: Any, tokenizer: Any, example: Example) -> ModelTensors:
    """Return the tensors for one sentence or image, on the model's device."""
    tensors = dict(example.tensors or {})
    if isinstance(tokenizer, str):
        raise RecordingError(
            f"The second argument is the tokenizer, but a text was given, {tokenizer!r}. Call "
            "show(model, tokenizer, text)."
        )
    if example.text is not None or example.image is not None:
        tensors |= _encode(tokenizer, example)
    if not tensors:
        raise RecordingError(
            f"{type(model).__name__} is a model. Give it something to read: show(model, tokenizer, 'a sentence'), or "
            "show(model, processor, image=image)."
        )
    tensors = {name: torch.as_tensor(value) for name, value in tensors.items() if value is not None}
    device, accepted_inputs = getattr(model, "device", torch.device("cpu")), accepted_names(model, tensors)
    ignored_inputs = [name for name in tensors if name not in accepted_inputs and not name.endswith(("_ids", "_mask"))]
    if ignored_inputs:
        raise RecordingError(
            f"{type(model).__name__} does not read {ignored_inputs[0]}, so it would be ignored. Leave it out."
        )
    main_input = getattr(model, "main_input_name", "input_ids")
    if not any(name in accepted_inputs and not name.endswith("_mask") for name in tensors):
        advice = "processor, image=image" if main_input == "pixel_values" else f"tokenizer, {main_input}=features"
        raise RecordingError(
            f"{type(model).__name__} reads {main_input}, and none of {', '.join(tensors)}. Call show(model, {advice})."
        )
    tensors = {name: value.to(device) for name, value in tensors.items() if name in accepted_inputs}
    _require_length(model, tensors)
    return tensors


def decoder_ids(model: Any, tokenizer: Any, target: str) -> torch.Tensor:
    """Return the ids that a decoder reads and writes for a text: its start token, then the text."""
    tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
    ids = tokenizer(text_target=target, return_tensors="pt")["input_ids"]
    return torch.cat([torch.tensor([[start_token(model)]]), ids], dim=1).to(model.device)


def start_token(model: Any) -> int:
    """Return the id of the decoder's start token."""
    for config in (getattr(model, "generation_config", None), model.config):
        for name in ("decoder_start_token_id", "bos_token_id"):
            if (token_id := getattr(config, name, None)) is not None:
                return int(token_id)
    raise RecordingError(
        f"{type(model).__name__} has no decoder_start_token_id in its config. Set it: "
        "model.config.decoder_start_token_id = tokenizer.bos_token_id."
    )


def text_config(model: Any) -> Any:
    """Return the part of a model's configuration that describes its text."""
    return model.config.get_text_config() if hasattr(model.config, "get_text_config") else model.config


def accepted_names(model: Any, tensors: Mapping[str, Any]) -> set[str]:
    """Return the names of inputs that the model's `forward` reads."""
    parameters = signature(model.forward).parameters
    if set(parameters) & set(tensors):
        return set(parameters)
    accepts_any = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values())
    return set(tensors) if accepts_any else set(parameters)  # a wrapper passes all inputs on


def _encode(tokenizer: Any, example: Example) -> Mapping[str, Any]:
    if tokenizer is None and example.image is not None and hasattr(example.image, "shape"):
        pixels = torch.as_tensor(example.image)
        return {"pixel_values": pixels[None] if pixels.ndim == 3 else pixels}
    if tokenizer is None or not callable(tokenizer):
        raise RecordingError(
            f"A model reads ids, so give its tokenizer or processor: show(model, tokenizer, 'a sentence'); "
            f"{type(tokenizer).__name__} was given."
        )
    if example.image is None:
        pair = () if example.text_pair is None else (example.text_pair,)
        encode = tokenizer if not pair else getattr(tokenizer, "tokenizer", tokenizer)
        return _as_mapping(encode(example.text, *pair, return_tensors="pt"))
    _require_image(tokenizer, example.image)
    if example.text is None:
        return _as_mapping(getattr(tokenizer, "image_processor", tokenizer)(images=example.image, return_tensors="pt"))
    return _as_mapping(tokenizer(text=example.text, images=example.image, return_tensors="pt"))


def _as_mapping(encoded: Any) -> Mapping[str, Any]:
    if not isinstance(encoded, Mapping):
        raise RecordingError(
            f"The tokenizer returned {type(encoded).__name__}, not the inputs of a model. Give a tokenizer of "
            "transformers, or the inputs: show(model, input_ids=ids)."
        )
    return encoded


def _require_image(processor: Any, image: Any) -> None:
    if isinstance(image, (str, bytes)) or hasattr(image, "__fspath__"):
        raise RecordingError(f"image is a path, {str(image)!r}. Open it first: image=PIL.Image.open(path).")
    names = getattr(processor, "model_input_names", ())
    if not hasattr(processor, "image_processor") and "pixel_values" not in names:
        raise RecordingError(
            f"{type(processor).__name__} reads no images. Give the processor: AutoProcessor or AutoImageProcessor."
        )


def _require_length(model: Any, tensors: ModelTensors) -> None:
    """Raise a `RecordingError` if a text is longer than the positions of the model."""
    config = text_config(model)
    limit = next((value for name in POSITION_LIMITS if (value := getattr(config, name, None))), None)
    count = tensors["input_ids"].shape[-1] if "input_ids" in tensors else 0
    if isinstance(limit, int) and 0 < limit < count:
        raise RecordingError(
            f"The text has {count} tokens, but {type(model).__name__} reads at most {limit}. Give a shorter text."
        )
