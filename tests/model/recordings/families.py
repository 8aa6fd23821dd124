"""Small random models of `transformers`, one of each family, and a tokenizer for them."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

transformers.utils.logging.set_verbosity_error()

WORDS = ["<pad>", "</s>", "<s>", "the", "cat", "sat", "on", "a", "mat", "##s", "dog", "ran", "far"]
SIZES = {"vocab_size": len(WORDS), "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2}
SIGNS = {"pad_token": "<pad>", "eos_token": "</s>", "bos_token": "<s>"}
EAGER: dict[str, Any] = {"attn_implementation": "eager"}


@cache
def tokenizer() -> Any:
    """A tokenizer with one token per word."""
    result = Tokenizer(models.WordPiece({word: place for place, word in enumerate(WORDS)}, unk_token="<pad>"))  # type: ignore[arg-type, call-arg]  # noqa: S106
    result.pre_tokenizer = pre_tokenizers.Whitespace()
    result.decoder = decoders.WordPiece()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=result,
        **SIGNS,
    )


def _seeded(make: Any, config: Any) -> Any:
    torch.manual_seed(3)
    model = make(config).eval()
    for each in model.parameters():  # far from uniform attention
        each.data.mul_(3)
    return model


@cache
def bert() -> Any:
    config = transformers.BertConfig(
        hidden_size=15, num_hidden_layers=2, num_attention_heads=3, intermediate_size=7, **SIZES, **EAGER
    )
    return _seeded(transformers.BertModel, config)


@cache
def gpt2() -> Any:
    config = transformers.GPT2Config(n_embd=15, n_layer=2, n_head=3, n_positions=32, **SIZES, **EAGER)
    return _seeded(transformers.GPT2LMHeadModel, config)


@cache
def decoder(family: str) -> Any:
    """A decoder with cross-attention to encoder states of width 15."""
    crossed = {"is_decoder": True, "add_cross_attention": True, **SIZES, **EAGER}
    if family == "gpt2":
        return _seeded(
            transformers.GPT2LMHeadModel,
            transformers.GPT2Config(n_embd=15, n_layer=2, n_head=3, n_positions=32, **crossed),
        )
    if family == "bert":
        config = transformers.BertConfig(
            hidden_size=15, num_hidden_layers=2, num_attention_heads=3, intermediate_size=7, **crossed
        )
        return _seeded(transformers.BertLMHeadModel, config)
    assert family == "bart"
    config = transformers.BartConfig(
        d_model=15, decoder_layers=2, decoder_attention_heads=5, decoder_ffn_dim=7, max_position_embeddings=32,
        **crossed,
    )  # fmt: skip
    return _seeded(transformers.BartForCausalLM, config)


@cache
def perceiver() -> Any:
    """A Perceiver whose three latent vectors attend to the tokens."""
    config = transformers.PerceiverConfig(
        num_latents=3, d_latents=12, d_model=16, num_blocks=1, num_self_attends_per_block=2,
        num_self_attention_heads=2, num_cross_attention_heads=2, vocab_size=len(WORDS), max_position_embeddings=32,
        **EAGER,
    )  # fmt: skip
    return _seeded(transformers.PerceiverForMaskedLM, config)


@cache
def pair(family: str) -> Any:
    """An encoder-decoder model with an encoder of text, images or audio."""
    tokenizer = decoder("gpt2")
    if family == "words":
        return transformers.EncoderDecoderModel(encoder=bert(), decoder=tokenizer).eval()
    if family == "picture":
        return transformers.VisionEncoderDecoderModel(encoder=vit(), decoder=tokenizer).eval()
    assert family == "sound"
    config = transformers.Wav2Vec2Config(
        hidden_size=15, num_hidden_layers=2, num_attention_heads=3, intermediate_size=7, conv_dim=(4,),
        conv_kernel=(5,), conv_stride=(5,), num_feat_extract_layers=1, num_conv_pos_embeddings=3,
        num_conv_pos_embedding_groups=1, feat_extract_norm="layer", **EAGER,
    )  # fmt: skip
    return transformers.SpeechEncoderDecoderModel(
        encoder=_seeded(transformers.Wav2Vec2Model, config), decoder=tokenizer
    ).eval()


@cache
def llama() -> Any:
    """A Llama model with six query heads and two key-value heads."""
    config = transformers.LlamaConfig(
        hidden_size=24, num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=2, intermediate_size=7,
        **SIZES, **EAGER,
    )  # fmt: skip
    return _seeded(transformers.LlamaForCausalLM, config)


@cache
def t5() -> Any:
    config = transformers.T5Config(
        d_model=15, d_kv=5, num_heads=3, d_ff=7, num_layers=2, decoder_start_token_id=0,
        vocab_size=len(WORDS), pad_token_id=0, eos_token_id=1, **EAGER,
    )  # fmt: skip
    return _seeded(transformers.T5ForConditionalGeneration, config)


def _two_stacks(kind: Any, make: Any, **more: Any) -> Any:
    config = kind(
        **more,
        d_model=15, encoder_layers=2, decoder_layers=3, encoder_attention_heads=3, decoder_attention_heads=5,
        encoder_ffn_dim=7, decoder_ffn_dim=7, max_position_embeddings=32, decoder_start_token_id=1,
        forced_eos_token_id=None, **SIZES, **EAGER,
    )  # fmt: skip
    return _seeded(make, config)


@cache
def bart() -> Any:
    return _two_stacks(transformers.BartConfig, transformers.BartForConditionalGeneration)


@cache
def marian() -> Any:
    return _two_stacks(transformers.MarianConfig, transformers.MarianMTModel)


@cache
def whisper() -> Any:
    config = transformers.WhisperConfig(
        d_model=30, encoder_layers=2, decoder_layers=3, encoder_attention_heads=3, decoder_attention_heads=5,
        encoder_ffn_dim=7, decoder_ffn_dim=7, num_mel_bins=4, max_source_positions=11, max_target_positions=13,
        decoder_start_token_id=2, suppress_tokens=None, begin_suppress_tokens=None, **SIZES, **EAGER,
    )  # fmt: skip
    return _seeded(transformers.WhisperForConditionalGeneration, config)


@cache
def vit() -> Any:
    config = transformers.ViTConfig(
        hidden_size=15, num_hidden_layers=2, num_attention_heads=3, intermediate_size=7, image_size=24, patch_size=8,
        **EAGER,
    )  # fmt: skip
    return _seeded(transformers.ViTModel, config)


@cache
def longformer() -> Any:
    config = transformers.LongformerConfig(
        hidden_size=15, num_hidden_layers=2, num_attention_heads=3, intermediate_size=7, attention_window=[4, 4],
        max_position_embeddings=40, **SIZES,
    )  # fmt: skip
    return _seeded(transformers.LongformerModel, config)


@cache
def led() -> Any:
    """An encoder with windows of four tokens, whose maps are stored by distance, and a decoder."""
    sizes = {"max_encoder_position_embeddings": 32, "max_decoder_position_embeddings": 32, "attention_window": 4}
    return _two_stacks(transformers.LEDConfig, transformers.LEDForConditionalGeneration, **sizes)


def big_bird(kind: str) -> Any:
    """An encoder that replaces its sparse attention for texts of up to 36 tokens. `kind`: its attention."""
    config = transformers.BigBirdConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=8, block_size=4,
        num_random_blocks=2, attention_type=kind, **SIZES,
    )  # fmt: skip
    return _seeded(transformers.BigBirdModel, config)


@cache
def prophet_decoder() -> Any:
    """A decoder that returns an empty cross-attention for each layer."""
    config = transformers.ProphetNetConfig(
        hidden_size=16, num_decoder_layers=2, num_decoder_attention_heads=4, decoder_ffn_dim=8, ngram=2,
        max_position_embeddings=32, is_decoder=True, is_encoder_decoder=False, **SIZES,
    )  # fmt: skip
    return _seeded(transformers.ProphetNetForCausalLM, config)


@cache
def data2vec() -> Any:
    """A model that chooses fused attention when it is built."""
    return _unswitched(
        transformers.Data2VecVisionConfig, transformers.Data2VecVisionModel, hidden_size=16, num_hidden_layers=2,
        num_attention_heads=4, intermediate_size=8, image_size=16, patch_size=8,
    )  # fmt: skip


@cache
def mobile_net() -> Any:
    """An image model without attention."""
    return transformers.MobileNetV1Model(transformers.MobileNetV1Config(depth_multiplier=0.1)).eval()


@cache
def clip() -> Any:
    sizes = {"hidden_size": 15, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 7}
    config = transformers.CLIPConfig(
        text_config=sizes | SIZES, vision_config=sizes | {"image_size": 16, "patch_size": 8}, projection_dim=6, **EAGER
    )
    return _seeded(transformers.CLIPModel, config)


@cache
def mamba() -> Any:
    return _seeded(transformers.MambaModel, transformers.MambaConfig(hidden_size=8, num_hidden_layers=1, **SIZES))


@cache
def swin() -> Any:
    config = transformers.SwinConfig(
        embed_dim=12, depths=[1, 1], num_heads=[2, 3], window_size=2, image_size=16, patch_size=4, **EAGER
    )
    return _seeded(transformers.SwinModel, config)


def _unswitched(kind: Any, make: Any, **sizes: Any) -> Any:
    """A model with the attention that `from_pretrained` selects, which returns no weights."""
    return _seeded(make, kind(**sizes, **SIZES))


@cache
def fused_gpt2() -> Any:
    return _unswitched(
        transformers.GPT2Config, transformers.GPT2LMHeadModel, n_embd=15, n_layer=2, n_head=3, n_positions=32
    )


@cache
def jamba() -> Any:
    """A hybrid: of six layers, the second and the fifth have attention."""
    return _unswitched(
        transformers.JambaConfig, transformers.JambaForCausalLM, hidden_size=16, num_hidden_layers=6,
        num_attention_heads=4, num_key_value_heads=2, intermediate_size=8, attn_layer_period=3, attn_layer_offset=1,
        expert_layer_period=2, expert_layer_offset=1, num_experts=2, use_mamba_kernels=False, mamba_d_state=4,
        mamba_dt_rank=2,
    )  # fmt: skip


@cache
def gemma2() -> Any:
    """Every other layer attends to the last three tokens only."""
    return _unswitched(
        transformers.Gemma2Config, transformers.Gemma2ForCausalLM, hidden_size=16, num_hidden_layers=4,
        num_attention_heads=4, num_key_value_heads=2, head_dim=4, intermediate_size=8, sliding_window=3,
    )  # fmt: skip


@cache
def deep_swin() -> Any:
    """Two stages of two blocks; the outputs hold the second of each."""
    return _unswitched(
        transformers.SwinConfig, transformers.SwinModel, embed_dim=12, depths=[2, 2], num_heads=[2, 3], window_size=2,
        image_size=16, patch_size=4,
    )  # fmt: skip


@cache
def albert() -> Any:
    """Three layers with the same weights."""
    return _unswitched(
        transformers.AlbertConfig, transformers.AlbertModel, embedding_size=8, hidden_size=16, num_hidden_layers=3,
        num_attention_heads=4, intermediate_size=8,
    )  # fmt: skip


def classifier(kind: str) -> Any:
    """A text classifier of a family that is shown in notebooks."""
    sizes: dict[str, Any] = {
        "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 8,
    }  # fmt: skip
    relative = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "max_relative_positions": 8}
    more: dict[str, Any] = {
        "Electra": {"embedding_size": 8}, "Albert": {"embedding_size": 8}, "Deberta": relative, "DebertaV2": relative,
    }[kind]  # fmt: skip
    config = getattr(transformers, f"{kind}Config")(**sizes, **more, **SIZES)
    return _seeded(getattr(transformers, f"{kind}ForSequenceClassification"), config)


@cache
def t5gemma() -> Any:
    """An encoder and a decoder, with a window of three tokens in every other layer."""
    part: dict[str, Any] = {
        "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4,
        "intermediate_size": 8, "sliding_window": 3, **SIZES,
    }  # fmt: skip
    config = transformers.T5GemmaConfig(encoder=part, decoder=part, **SIZES)
    return _seeded(transformers.T5GemmaForConditionalGeneration, config)
