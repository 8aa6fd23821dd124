"""Builds the draft decoders for speculative decoding.

- The *light* one has weights and inputs of 8 bits. Of a trained model about one word in 250 is wrong.
- The *steady* one has the float16 layers of the step. About one word in 700 is wrong where near-ties are many.

Both find words by an output of 8 bits and decide in float32: the likeliest few are multiplied again with the model's
own rows. So a step reads a quarter of the largest matrix, and its rounding chooses no word.
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

MIN_DECODER_ENTRIES = 1 << 24  # entries of a decoder from which reading fewer bytes saves more than one more copy costs
OUTPUT = ".output.words"
SHORTLIST_SIZE = 8  # words that are decided among: 8 bits err by 0.01, and the eighth word is further away than that


class Shortlist:
    """The output of a drafter, for the newest token alone."""

    def __init__(self, rough: Linear, weight: Tensor, bias: Tensor | None) -> None:
        self.rough = rough
        self.weight = weight
        self.bias = bias

    def __call__(self, x: Tensor) -> Tensor:
        """`[rows, tokens, d_model]` → logits `[rows, 1, vocabulary]`; the highest ones are exact."""
        newest = x[:, -1]
        logits = self.rough(newest)
        best = logits.topk(min(SHORTLIST_SIZE, logits.shape[-1]), dim=-1, sorted=False).indices  # [rows, few]
        exact = (self.weight[best] @ newest[:, :, None])[:, :, 0]
        if self.bias is not None:
            exact += self.bias[best]
        return logits.scatter_(1, best, exact)[:, None]


class _DraftPreparation(ModelPacker):
    """A twin of a decoder whose output is a shortlist."""

    def __init__(self, packer: Packer, copies: CopyBudget, output: Linear | None = None) -> None:
        super().__init__(packer, UNUSED_IN_STEPS, copies, keeps_probes=False)
        self.output = output  # 8-bit, if it was created already

    def linear(self, module: nn.Linear, path: str) -> Linear:
        if path != OUTPUT:
            return super().linear(module, path)
        weight, bias = module.weight.detach(), None if module.bias is None else module.bias.detach()
        self.output = self.output or INT8.pack(weight, bias)
        return Shortlist(self.output, weight, bias)


def draft_model_bytes(decoder: nn.Module) -> int:
    """Memory of the 8-bit draft decoder; zero if 8 bits are slow here or the decoder is too small."""
    entries = sum(weight.numel() for weight in decoder.parameters() if weight.dim() > 1)
    if entries < MIN_DECODER_ENTRIES or not can_pack_int8():
        return 0
    light = _DraftPreparation(INT8, CopyBudget())
    light.plan(decoder)
    return light.bytes


def make_draft_models(decoder: nn.Module, prepared: PackedModel) -> DraftModels:
    """Both drafters, the steady one when it is first needed; the step itself where 8 bits would not pay."""
    if not draft_model_bytes(decoder):
        return DraftModels(prepared.step, lambda: prepared.step)
    draft = _DraftPreparation(INT8, CopyBudget())
    light, output = draft.pack(decoder), draft.output

    def steady() -> Any:
        return prepared.packed_step_with(_DraftPreparation(step_packer(), prepared.copies, output))

    return DraftModels(light, steady)
