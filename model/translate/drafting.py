"""Draft decoders for speculative decoding.

- The *light* one has weights and inputs of 8 bits. In a trained model, about one token in 250 is wrong.
- The *steady* one has the float16 layers of the step. In a model with many near-ties, about one token in 700 is wrong.

Both select a shortlist with an 8-bit output matrix and decide in float32: the logits of the shortlist are recomputed
with the model's own rows. So a step reads a quarter of the largest matrix, and its rounding does not choose a token.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from headlight.model.decoding.speculative import DraftModels
from headlight.model.translate.packed_model import (
    INT8,
    UNUSED_IN_STEPS,
    CopyBudget,
    Linear,
    ModelPacker,
    PackedModel,
    Packer,
    can_pack_int8,
    step_packer,
)

MIN_DECODER_ENTRIES = 1 << 24  # size of a decoder from which 8-bit weights save more than their copy costs
OUTPUT = ".output.words"
SHORTLIST_SIZE = 8  # tokens in the shortlist: 8 bits have an error of 0.01, and the eighth token is further behind


class Shortlist:
    """The output projection of a draft decoder, for only the newest token."""

    def __init__(self, rough: Linear, weight: Tensor, bias: Tensor | None) -> None:
        self.rough = rough
        self.weight = weight
        self.bias = bias

    def __call__(self, x: Tensor) -> Tensor:
        """Map `[rows, tokens, d_model]` to logits `[rows, 1, vocabulary]`. The highest logits are exact."""
        newest = x[:, -1]
        logits = self.rough(newest)
        best = logits.topk(min(SHORTLIST_SIZE, logits.shape[-1]), dim=-1, sorted=False).indices  # [rows, shortlist]
        exact = (self.weight[best] @ newest[:, :, None])[:, :, 0]
        if self.bias is not None:
            exact += self.bias[best]
        return logits.scatter_(1, best, exact)[:, None]


class _DraftPreparation(ModelPacker):
    """Packer of a decoder, with a shortlist as its output projection."""

    def __init__(self, packer: Packer, copies: CopyBudget, output: Linear | None = None) -> None:
        super().__init__(packer, UNUSED_IN_STEPS, copies, keeps_probes=False)
        self.output = output  # the 8-bit matrix, if another draft decoder has created it

    def linear(self, module: nn.Linear, path: str) -> Linear:
        if path != OUTPUT:
            return super().linear(module, path)
        weight, bias = module.weight.detach(), None if module.bias is None else module.bias.detach()
        self.output = self.output or INT8.pack(weight, bias)
        return Shortlist(self.output, weight, bias)


def draft_model_bytes(decoder: nn.Module) -> int:
    """Return the bytes of the 8-bit draft decoder; zero if 8 bits are slow on this machine or the decoder is small."""
    entries = sum(weight.numel() for weight in decoder.parameters() if weight.dim() > 1)
    if entries < MIN_DECODER_ENTRIES or not can_pack_int8():
        return 0
    light = _DraftPreparation(INT8, CopyBudget())
    light.plan(decoder)
    return light.bytes


def make_draft_models(decoder: nn.Module, prepared: PackedModel) -> DraftModels:
    """Create both draft decoders, the steady one on first use. If 8 bits have no benefit, use the step itself."""
    if not draft_model_bytes(decoder):
        return DraftModels(prepared.step, lambda: prepared.step)
    draft = _DraftPreparation(INT8, CopyBudget())
    light, output = draft.pack(decoder), draft.output

    def steady() -> Any:
        return prepared.packed_step_with(_DraftPreparation(step_packer(), prepared.copies, output))

    return DraftModels(light, steady)
