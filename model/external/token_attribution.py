"""Attribution of a prediction to the input tokens by gradient × input, with the attention weights for comparison.

For the log probability of the predicted token, the attribution of a token is the dot product of its embedding with the
gradient (https://arxiv.org/abs/1605.01713). It needs no attention, so it also works for models such as Mamba.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from headlight.model.external.losses import loss_inputs
from headlight.model.external.switches import attention_implementation, evaluation_mode
from headlight.model.recordings.recording import RecordingError, require_index
from headlight.model.recordings.token_names import names_from_ids
from headlight.model.recordings.transformers_outputs import get_field


@dataclass(frozen=True)
class TokenAttribution:
    """The attribution of one predicted token to each input token."""

    tokens: tuple[str, ...]
    values: tuple[float, ...]  # in nats; positive values increase the probability
    predicted: str
    log_probability: float
    attention: tuple[float, ...] | None  # mean weight of the predicting row, over all layers and heads

    def table(self) -> list[tuple[str, float, float | None]]:
        """Return token, attribution and attention, in the order of the text."""
        weights = self.attention or (None,) * len(self.tokens)
        return list(zip(self.tokens, self.values, weights, strict=True))


def attribute_tokens(
    model: Any, tokenizer: Any, text: str, *, target: str | None = None, position: int = -1
) -> TokenAttribution:
    """Attribute a predicted token to the tokens that the model read.

    `position` is the index of the predicted token in the text, at least 1, or in `target` for an encoder-decoder model.
    By default, it is the last one. A decoder-only model reads the tokens before it.
    """
    inputs = loss_inputs(model, tokenizer, text, target=target)
    predicted_ids = inputs.predicted_ids
    assert predicted_ids is not None  # noqa: S101 (there are no labels)
    first = 0 if target is not None else 1
    count = predicted_ids.shape[1]
    index = count - 1 if position == -1 else require_index("position", position, range(first, count + first)) - first
    read_ids = inputs.tensors["input_ids"][0] if target is not None else inputs.tensors["input_ids"][0, : index + 1]
    with evaluation_mode(model), torch.enable_grad():
        embeddings, logits = _run_with_embeddings(model, inputs.tensors)
        log_probability = logits[0, index].float().log_softmax(dim=-1)[predicted_ids[0, index]]
        (gradient,) = torch.autograd.grad(log_probability, embeddings)
    values = (gradient[0] * embeddings[0]).sum(dim=-1).detach()[: len(read_ids)]
    names = [token.text for token in names_from_ids(tokenizer, read_ids.tolist())[0]]
    (name,) = names_from_ids(tokenizer, [int(predicted_ids[0, index])])[0]
    attention = _average_attention(model, inputs.tensors, index)
    return TokenAttribution(tuple(names), tuple(values.tolist()), name.text, float(log_probability.detach()), attention)


def _run_with_embeddings(model: Any, tensors: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Run the model, and return the embeddings of the input ids, as a leaf of the graph, and the logits."""
    leaves: list[torch.Tensor] = []

    def replace_output(_: Any, __: Any, output: torch.Tensor) -> torch.Tensor:
        if leaves:  # a second stack with the same embeddings
            return output
        leaves.append(output.detach().requires_grad_())
        return leaves[0].clone()  # some models, such as CTRL, scale their embeddings in place

    reader = model.get_encoder() if getattr(model.config, "is_encoder_decoder", False) else model
    handle = reader.get_input_embeddings().register_forward_hook(replace_output)
    try:
        logits = model(**tensors).logits
    finally:
        handle.remove()
    if not leaves:
        raise RecordingError(
            f"{type(model).__name__} does not use its input embeddings, so tokens have no gradient. Give a model that "
            "reads input_ids."
        )
    return leaves[0], logits


def _average_attention(model: Any, tensors: dict[str, torch.Tensor], row: int) -> tuple[float, ...] | None:
    """Return the mean weights of the predicting row, or None for a model without attention."""
    with torch.no_grad(), attention_implementation(model), evaluation_mode(model):
        outputs = model(**tensors, output_attentions=True)
    cross = get_field(outputs, "cross_attentions")
    layers = [layer for layer in cross or get_field(outputs, "attentions") or () if layer is not None]
    if not layers:
        return None
    weights = torch.stack([layer[0, :, row].float().mean(dim=0) for layer in layers]).mean(dim=0)
    return tuple(weights.tolist() if cross else weights[: row + 1].tolist())
