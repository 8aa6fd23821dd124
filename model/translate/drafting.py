"""Draft decoders for speculative decoding.

- The *light* decoder has 8-bit weights and inputs. With a trained model, about one of its tokens in 250 is wrong.
- The *steady* decoder has the float16 layers of the step. With a model that has many near-ties, about one of its tokens
  in 700 is wrong.

Both decoders select a shortlist of tokens with an 8-bit output matrix, and recompute the logits of the shortlist with
the model's float32 rows. A step therefore reads a quarter of the largest matrix, and rounding does not choose a token.
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
# Tokens in the shortlist. 8-bit logits have an error of 0.01, and the eighth token is further behind the first.
SHORTLIST_SIZE = 8


class Shortlist:
    """Output projection of a draft decoder, which computes the logits of the newest token only."""

    def __init__(self, int8_projection: Linear, weight: Tensor, bias: Tensor | None) -> None:
        self.int8_projection = int8_projection
        self.weight = weight
        self.bias = bias

    def __call__(self, x: Tensor) -> Tensor:
        """Map `[rows, tokens, d_model]` to logits `[rows, 1, vocabulary]`. The highest logits are exact."""
        newest = x[:, -1]
        logits = self.int8_projection(newest)
        best = logits.topk(min(SHORTLIST_SIZE, logits.shape[-1]), dim=-1, sorted=False).indices  # [rows, shortlist]
        exact = (self.weight[best] @ newest[:, :, None])[:, :, 0]
        if self.bias is not None:
            exact += self.bias[best]
        return logits.scatter_(1, best, exact)[:, None]


class _DraftPacker(ModelPacker):
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
    packer = _DraftPacker(INT8, CopyBudget())
    packer.plan(decoder)
    return packer.bytes


def make_draft_models(decoder: nn.Module, packed_model: PackedModel) -> DraftModels:
    """Create both draft decoders, the steady one on first use. If 8-bit weights are not faster, drafts use the step."""
    if not draft_model_bytes(decoder):
        return DraftModels(packed_model.step, lambda: packed_model.step)
    int8_packer = _DraftPacker(INT8, CopyBudget())
    light, output = int8_packer.pack(decoder), int8_packer.output

    def make_steady() -> Any:
        return packed_model.pack_step_with(_DraftPacker(step_packer(), packed_model.copies, output))

    return DraftModels(light, make_steady)
