"""The loss of a model on a text: the mean negative log probability of its tokens, in nats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from headlight.model.external.model_inputs import Example, ModelTensors, decoder_ids, prepare_inputs
from headlight.model.recordings.recording import RecordingError


@dataclass(frozen=True)
class LossInputs:
    """The tensors that a model reads, and the ids whose probabilities give the loss."""

    tensors: ModelTensors
    predicted_ids: torch.Tensor | None  # [batch, predicted token]; None: the model computes its own loss

    def loss(self, model: Any, **options: Any) -> torch.Tensor:
        """Run the model and return its loss."""
        outputs = model(**self.tensors, **options)
        if self.predicted_ids is None:
            loss: torch.Tensor = outputs.loss
            return loss
        logits = outputs.logits[:, : self.predicted_ids.shape[1]].float()
        return F.cross_entropy(logits.flatten(0, 1), self.predicted_ids.flatten())


def loss_inputs(model: Any, tokenizer: Any, text: str, *, target: str | None = None, labels: Any = None) -> LossInputs:
    """Return the inputs of the loss: of the next tokens, of a `target` text, or of the model's loss for `labels`."""
    tensors = prepare_inputs(model, tokenizer, Example(text=text))
    if labels is not None:
        return LossInputs({**tensors, "labels": torch.as_tensor(labels, device=model.device)}, None)
    if getattr(model.config, "is_encoder_decoder", False):
        if target is None:
            raise RecordingError(f"{type(model).__name__} writes a text. Give it: target='a translation'.")
        ids = decoder_ids(model, tokenizer, target)
        return LossInputs({**tensors, "decoder_input_ids": ids[:, :-1]}, ids[:, 1:])
    if not (hasattr(model, "can_generate") and model.can_generate()):
        raise RecordingError(
            f"{type(model).__name__} predicts no next token, so its loss needs labels=: the ids of masked tokens (-100 "
            "elsewhere), or the number of the class."
        )
    ids = tensors["input_ids"]
    if ids.shape[1] < 2:
        raise RecordingError("The text has one token, and the loss predicts each token from those before. Add words.")
    return LossInputs(tensors, ids[:, 1:])
