"""Run a model on a sentence or an image and return its attention, as `headlight.show(model, tokenizer, text)` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from headlight.model.external.attention_sites import SiteRecorder, format_layer_ranges, record_sites
from headlight.model.external.image_layout import image_layout
from headlight.model.external.model_inputs import (
    Example,
    ModelTensors,
    decoder_ids,
    prepare_inputs,
    start_token,
    text_config,
)
from headlight.model.external.switches import attention_implementation, evaluation_mode
from headlight.model.external.windows import (
    BlockWindows,
    WindowSites,
    covered_grids,
    first_stage,
    last_stage,
    record_window_sites,
    window_remarks,
)
from headlight.model.recordings.generate_steps import is_stepwise
from headlight.model.recordings.images import ImageLayout
from headlight.model.recordings.recording import Recording, RecordingError, Remark, did_you_mean
from headlight.model.recordings.transformers_outputs import (
    FIELDS,
    ModelInputs,
    get_field,
    has_attention,
    recording_from_outputs,
)

MAX_NEW_TOKENS = 64  # default for an encoder-decoder model without `generate`
EMBEDDING_ERROR = "index out of range in self"  # PyTorch's message for an id without an embedding
UNUSED_WEIGHT = 1e-6  # a masked key may have a weight up to this number
CLASSIFIERS = ("ForSequenceClassification", "ForQuestionAnswering")
TEXT_INPUTS = ("input_ids", "attention_mask")
SUBMODELS = {"input_ids": "text_model", "pixel_values": "vision_model"}  # the halves of CLIP and similar models
Generation = int | Mapping[str, Any] | None


@dataclass(frozen=True)
class ModelRun:
    """Outputs of a model, and the inputs that provide token names. Lists contain None for a layer without attention."""

    outputs: Mapping[str, Any]
    inputs: ModelInputs
    name: str
    remarks: tuple[Remark, ...] = ()
    windows: Mapping[str, Sequence[BlockWindows | None]] = field(default_factory=dict)  # of each layer, by output

    def recording(self, *, layers: Sequence[int] | None = None, **names: Any) -> Recording:
        """Return the attention of some or all layers; `names` are `source`, `target` or `tokens`."""
        numbers = self._select_default_layers(layers)
        outputs, remarks = dict(self.outputs), list(self.remarks)
        for name, windows in self.windows.items():
            indices = last_stage(windows) if numbers is None else numbers
            outputs[name] = _expand_windows(outputs[name], windows, indices)
            remarks += window_remarks(windows, indices)
        result = recording_from_outputs(outputs, replace(self.inputs, **names), layers=numbers, name=self.name)
        return replace(result, remarks=(*result.remarks, *remarks))

    def _select_default_layers(self, layers: Sequence[int] | None) -> Sequence[int] | None:
        """Return the layers of one shape if no layers are selected and their shapes differ, as in Swin."""
        if layers is not None and isinstance(layers, Iterable):
            return list(layers)
        values = self.outputs.get("attentions")
        if layers is not None or values is None or is_stepwise(values):
            return layers
        if "attentions" in self.windows:
            return first_stage(self.windows["attentions"])
        shapes = [None if weights is None else tuple(weights.shape) for weights in values]
        first = next(shape for shape in shapes if shape is not None)
        same_shape = [number for number, shape in enumerate(shapes) if shape == first]
        return None if len(same_shape) == len([shape for shape in shapes if shape]) else same_shape


def _expand_windows(layers: Sequence[Any], windows: Sequence[BlockWindows | None], numbers: Sequence[int]) -> list[Any]:
    """Return the selected layers as maps of the whole image, and None for all other layers."""
    return [
        None if number not in numbers else weights if block is None else block.whole_map(weights)
        for number, (weights, block) in enumerate(zip(layers, windows, strict=True))
    ]


def run_model(
    model: Any, tokenizer: Any, example: Example, *, generate: Generation = None, part: str | None = None
) -> list[ModelRun]:
    """Run the model once and return its attention: one run, or one for each half of a model such as CLIP.

    An encoder-decoder model writes an answer, unless the example has a `target`. `generate` is the number of tokens
    that a model writes, or options of `generate`.
    """
    tensors = prepare_inputs(model, tokenizer, example)
    model, name = _select_submodel(model, tensors), type(model).__name__
    with (
        torch.no_grad(),
        evaluation_mode(model),
        attention_implementation(model),
        record_sites(model) as sites,
        record_window_sites(model) as window_sites,
    ):
        outputs = _call_model(model, tokenizer, example, tensors, generate)
        parts = {key: value for key, value in outputs.items() if value is not None and has_attention(value)}
        if not has_attention(outputs) and parts:
            inputs = _make_model_inputs(model, tensors, tokenizer)
            return [_make_part_run(key, parts[key], inputs, name, sites) for key in _select_parts(parts, part)]
        if part is not None:
            raise RecordingError(f"{name} has no parts, so part={part!r} would be ignored. Leave it out.")
        if not _list_attention_fields(outputs):
            raise _no_attention_error(model, tensors)
        outputs = _drop_empty_fields(model, outputs)
        run = _make_run(outputs, _make_model_inputs(model, tensors, tokenizer), name, sites, model)
        return [_add_windows(run, model, sites, window_sites)]


def _select_submodel(model: Any, tensors: ModelTensors) -> Any:
    """Return the text or vision half of a model such as CLIP if only its inputs are given."""
    if all(hasattr(model, name) for name in SUBMODELS.values()):
        missing = [name for name in SUBMODELS if name not in tensors]
        if len(missing) == 1:
            return getattr(model, next(SUBMODELS[name] for name in SUBMODELS if name not in missing))
    return model


def _call_model(
    model: Any, tokenizer: Any, example: Example, tensors: ModelTensors, generate: Generation
) -> Mapping[str, Any]:
    switches = {"output_attentions": True, "return_dict": True}
    try:
        if example.target is not None:
            ids = decoder_ids(model, tokenizer, example.target)
            outputs = model(**tensors, decoder_input_ids=ids[:, :-1], **switches)
            return {**_get_fields(outputs), "sequences": ids}
        is_encoder_decoder = getattr(model.config, "is_encoder_decoder", False) and "decoder_input_ids" not in tensors
        if is_encoder_decoder and generate is None and type(model).__name__.endswith(CLASSIFIERS):
            outputs, read_ids = _run_encoder_decoder_classifier(model, tensors, switches)
            tensors |= {} if read_ids is None else {"decoder_input_ids": read_ids}
            return _get_fields(outputs)
        if generate is not None or is_encoder_decoder:
            return _generate(model, tensors, {} if generate is None else generate)
        outputs = model(**tensors, **switches)
    except IndexError as error:
        if EMBEDDING_ERROR not in str(error):
            raise
        raise RecordingError(
            f"{type(model).__name__} has no embedding for one of the ids ({error}). Give the tokenizer of this model, "
            "or a shorter text."
        ) from error
    return _get_fields(outputs)


def _run_encoder_decoder_classifier(
    model: Any, tensors: ModelTensors, switches: Mapping[str, bool]
) -> tuple[Any, torch.Tensor | None]:
    """Run a classifier whose decoder reads the same text as its encoder. Return the outputs and the decoder's ids."""
    recorded_ids: list[torch.Tensor] = []

    def record_ids(_: Any, __: Any, values: Mapping[str, Any]) -> None:
        recorded_ids.extend([values["input_ids"]] if isinstance(values.get("input_ids"), torch.Tensor) else [])

    handle = model.get_decoder().register_forward_pre_hook(record_ids, with_kwargs=True)
    try:
        return model(**tensors, **switches), recorded_ids[-1] if recorded_ids else None
    finally:
        handle.remove()


def _generate(model: Any, tensors: ModelTensors, generate: int | Mapping[str, Any]) -> Mapping[str, Any]:
    if not (hasattr(model, "can_generate") and model.can_generate()):
        raise RecordingError(
            f"{type(model).__name__} cannot write a text. Give what its decoder reads, target='a translation', or load "
            "a class that writes, such as AutoModelForSeq2SeqLM or AutoModelForCausalLM."
        )
    options = generate if isinstance(generate, Mapping) else {"max_new_tokens": generate}
    options = {"max_new_tokens": MAX_NEW_TOKENS, **options}
    if getattr(model.config, "is_encoder_decoder", False) and "decoder_start_token_id" not in options:
        start_token(model)
    has_windows = hasattr(model.config, "attention_window")  # LED, whose maps are stored by distance
    if has_windows and bool(tensors.get("global_attention_mask", torch.zeros(1)).any()):
        raise RecordingError(
            f"{type(model).__name__}.generate does not return the weights of tokens with global attention. Leave out "
            "global_attention_mask, or give what the decoder writes: target='a summary'."
        )
    try:
        outputs = model.generate(**tensors, **options, output_attentions=True, return_dict_in_generate=True)
    except ValueError as error:
        raise RecordingError(
            f"{type(model).__name__}.generate refused its options: {error} Change them with generate=20 or "
            "generate={'max_new_tokens': 20}."
        ) from error
    return {**({"encoder_global_attentions": None} if has_windows else {}), **_get_fields(outputs)}


def _get_fields(outputs: Any) -> dict[str, Any]:
    """Return all fields of an output, including those that are None, which the keys of a `ModelOutput` omit."""
    return vars(outputs) | dict(outputs) if isinstance(outputs, Mapping) else {}


def _make_run(outputs: Mapping[str, Any], inputs: ModelInputs, name: str, sites: SiteRecorder, model: Any) -> ModelRun:
    values, remarks = dict(outputs), _make_sliding_remarks(model, outputs)
    for output in _list_attention_fields(outputs):
        value = outputs[output]
        if is_stepwise(value):
            values[output] = [_index_by_number(step, sites) for step in value]
        else:
            values[output] = _remove_block_padding(_index_by_number(value, sites), inputs)
        first = value[0] if is_stepwise(value) else value
        if output != "cross_attentions" and (missing := sites.find_layers_without_attention(first)):
            remarks.append(Remark("no_attention", {"layers": format_layer_ranges(missing)}))
    return ModelRun(values, inputs, name, tuple(remarks))


def _add_windows(run: ModelRun, model: Any, sites: SiteRecorder, window_sites: WindowSites) -> ModelRun:
    """Return the run with the windows of its layers, and the patches of each stage."""
    windows = {
        name: [window_sites.windows(sites, weights) for weights in run.outputs[name]]
        for name in ("attentions", "encoder_attentions")
        if run.outputs.get(name) and not is_stepwise(run.outputs[name])
    }
    windows = {name: blocks for name, blocks in windows.items() if any(blocks)}
    if not windows:
        return run
    grids = covered_grids(model, next(iter(windows.values())))
    layout = replace(run.inputs.layout, is_known=True, grids=grids)
    pictures = len(run.inputs.pixel_values) if run.inputs.pixel_values is not None else 1
    remarks = (*run.remarks, *([Remark("batch", {"number": 1, "count": pictures})] if pictures > 1 else []))
    return replace(run, inputs=replace(run.inputs, layout=layout), windows=windows, remarks=remarks)


def _index_by_number(layers: Sequence[Any], sites: SiteRecorder) -> list[Any]:
    """Index the layers by their numbers in the model, with None for layers that returned no attention."""
    positions = sites.find_layer_numbers(layers)
    if positions is None:
        return list(layers)
    numbers, count = positions
    results: list[Any] = [None] * count
    for number, weights in zip(numbers, layers, strict=True):
        results[number] = weights
    return results


def _remove_block_padding(layers: list[Any], inputs: ModelInputs) -> list[Any]:
    """Remove the padding that a model such as BigBird adds to complete the last block of a text."""
    count = 0 if inputs.input_ids is None else inputs.input_ids.shape[-1]

    def is_padded(weights: Any) -> bool:
        rows, columns = weights.shape[-2:]
        return bool(rows == columns > count and weights[..., :count, count:].abs().max() < UNUSED_WEIGHT)

    maps = [weights for weights in layers if weights is not None]
    if not count or not all(isinstance(weights, torch.Tensor) and is_padded(weights) for weights in maps):
        return layers
    return [None if weights is None else weights[..., :count, :count] for weights in layers]


def _make_part_run(key: str, part: Any, inputs: ModelInputs, name: str, sites: SiteRecorder) -> ModelRun:
    """Return the run of one half of a model. Its token names come from the text or the image."""
    reads_image = "vision" in key or "image" in key
    absent: dict[str, Any] = dict.fromkeys(TEXT_INPUTS if reads_image else ("pixel_values",))
    part_inputs = replace(inputs, **absent)
    return _make_run(_get_fields(part), part_inputs, f"{name}: {_part_name(key)}", sites, None)


def _select_parts(parts: Mapping[str, Any], part_name: str | None) -> list[str]:
    names = {_part_name(key): key for key in parts}
    if part_name is None:
        return list(parts)
    if part_name not in names:
        raise RecordingError(
            f"part must be one of {', '.join(names)}, but {part_name!r} was given.{did_you_mean(part_name, names)}"
        )
    return [names[part_name]]


def _part_name(key: str) -> str:
    return key.removesuffix("_outputs").removesuffix("_output").removesuffix("_model")


def _drop_empty_fields(model: Any, outputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the outputs without fields that have no weights, such as cross-attention of a decoder called alone."""
    fields = _list_attention_fields(outputs)
    empty_fields = [name for name in fields if not _list_weights(outputs[name])]
    if len(empty_fields) == len(fields):
        raise RecordingError(
            f"{type(model).__name__} returned no weights, because it was loaded with fused attention and cannot change "
            "it afterwards. Load it with attn_implementation='eager'."
        )
    return {**outputs, **dict.fromkeys(empty_fields)}


def _list_weights(layers: Sequence[Any]) -> list[Any]:
    """Return the weights of the layers that have some; for `generate`, only of the first step."""
    return [weights for weights in (layers[0] if is_stepwise(layers) else layers) if weights is not None]


def _list_attention_fields(outputs: Mapping[str, Any]) -> list[str]:
    return [output for output in FIELDS if get_field(outputs, output)]


def _make_model_inputs(model: Any, tensors: ModelTensors, tokenizer: Any) -> ModelInputs:
    fields: dict[str, Any] = {name: tensors[name] for name in ModelInputs.__dataclass_fields__ if name in tensors}
    layout = image_layout(model, tensors["pixel_values"].shape) if "pixel_values" in tensors else ImageLayout()
    return ModelInputs(tokenizer=tokenizer, layout=layout, **fields)


def _make_sliding_remarks(model: Any, outputs: Mapping[str, Any]) -> list[Remark]:
    """Name the layers with a sliding window, if the text is longer than the window."""
    if model is None or not outputs.get("attentions"):
        return []
    config = text_config(model)
    types = getattr(config, "layer_types", None) or ()
    layers = [number for number, name in enumerate(types) if name == "sliding_attention"]
    window = getattr(config, "sliding_window", None)
    attentions = outputs["attentions"]
    count = _list_weights(attentions[-1:] if is_stepwise(attentions) else attentions)[-1].shape[-1]
    if not layers or not isinstance(window, int) or window >= count:
        return []
    return [Remark("sliding", {"layers": format_layer_ranges(layers), "window": window})]


def _no_attention_error(model: torch.nn.Module, tensors: ModelTensors) -> RecordingError:
    if hasattr(model, "set_attention_type") or hasattr(getattr(model, "base_model", None), "set_attention_type"):
        return RecordingError(
            f"{type(model).__name__} replaces its sparse attention when it reads a short text, and then returns no "
            "weights. Load it with attention_type='original_full'."
        )
    lists = [module for module in model.modules() if isinstance(module, torch.nn.ModuleList) and len(module)]
    layers = f" Its layers are {type(lists[0][0]).__name__}." if lists else ""
    advice = (
        "Show a model that attends to patches, such as ViT, DeiT, DINOv2 or Swin."
        if "pixel_values" in tensors
        else "Show another model; which tokens a prediction depends on, headlight.attribute_tokens(model, tokenizer, "
        "text) measures for a model without attention, too."
    )
    return RecordingError(
        f"{type(model).__name__} returned no attention: it has none, or its code does not return it.{layers} {advice}"
    )
