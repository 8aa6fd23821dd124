"""Hugging Face `transformers`: `MarianMTModel.generate` with all attentions, through its public interface."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headlight.model.core.transformer import Transformer
from headlight.model.families.loading import load_checkpoint
from workshop.benchmarks.engines import Job, Workload

ATTENTION = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "out_proj": "output"}
ENCODER_LAYER = {
    "self_attn": "self_attention",
    "self_attn_layer_norm": "around_self_attention.norm",
    "fc1": "feed_forward.wide",
    "fc2": "feed_forward.narrow",
    "final_layer_norm": "around_feed_forward.norm",
}
DECODER_LAYER = ENCODER_LAYER | {
    "encoder_attn": "cross_attention",
    "encoder_attn_layer_norm": "around_cross_attention.norm",
}


class Marian:
    """A Marian model with the weights of a Headlight model."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def jobs(self, work: Workload) -> dict[str, Job]:
        """Return a job that decodes exactly `length` tokens greedily and returns attentions."""
        ids = torch.tensor(work.ids, device=self.model.device)
        options = {
            "attention_mask": torch.ones_like(ids),
            "num_beams": 1,
            "do_sample": False,
            "min_new_tokens": work.length,
            "max_new_tokens": work.length,
            "output_attentions": True,
            "return_dict_in_generate": True,
        }

        def generate() -> list[list[int]]:
            with torch.inference_mode():
                result = self.model.generate(ids, **options)
            if not (result.encoder_attentions and result.decoder_attentions and result.cross_attentions):
                raise RuntimeError("generate returned no attention maps, so its time is not comparable.")
            new_ids: list[list[int]] = result.sequences[:, 1:].tolist()
            return new_ids

        return {"transformers": generate}


def load(folder: Path, *, device: str = "cpu", dtype: str = "float32", threads: int) -> Marian:
    """Load a Headlight folder as a Marian model."""
    torch.set_num_threads(threads)
    from transformers import MarianConfig, MarianMTModel
    from transformers.utils import logging

    logging.set_verbosity_error()
    transformer = load_checkpoint(folder).model
    config = transformer.config
    model = MarianMTModel(
        MarianConfig(
            vocab_size=config.source_vocabulary,
            d_model=config.d_model,
            encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers,
            encoder_attention_heads=config.heads,
            decoder_attention_heads=config.heads,
            encoder_ffn_dim=config.d_ff,
            decoder_ffn_dim=config.d_ff,
            activation_function="swish",
            scale_embedding=True,
            max_position_embeddings=config.max_length,
            pad_token_id=config.pad_id,
            eos_token_id=config.end_id,
            decoder_start_token_id=config.start_id,
            forced_eos_token_id=None,
            attn_implementation="eager",
        )
    )
    loaded = model.load_state_dict(marian_state(transformer), strict=False)
    missing_names = [name for name in loaded.missing_keys if "embed_" not in name and name != "lm_head.weight"]
    if missing_names or loaded.unexpected_keys:
        raise RuntimeError(f"The names of Marian's weights have changed: {missing_names or loaded.unexpected_keys}")
    model.tie_weights()
    return Marian(model.to(device, getattr(torch, dtype)).eval())


def marian_state(ours: Transformer) -> dict[str, Tensor]:
    """Return the weights by Marian's names."""
    our_state = ours.state_dict()
    state = {
        "model.shared.weight": our_state["encoder.embedding.table.weight"],
        "final_logits_bias": our_state["decoder.output.words.bias"][None],
    }
    for side, layers, names in (
        ("encoder", ours.config.encoder_layers, ENCODER_LAYER),
        ("decoder", ours.config.decoder_layers, DECODER_LAYER),
    ):
        for layer in range(layers):
            layer_path = f"{side}.layers.{layer}"
            for their_module, our_module in names.items():
                parts = ATTENTION if their_module.endswith("attn") else {"": ""}
                for their_part, our_part in parts.items():
                    for kind in ("weight", "bias"):
                        their_name = ".".join(filter(None, ("model", layer_path, their_module, their_part, kind)))
                        state[their_name] = our_state[".".join(filter(None, (layer_path, our_module, our_part, kind)))]
    return state
