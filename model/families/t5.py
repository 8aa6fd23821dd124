"""T5 (https://arxiv.org/abs/1910.10683), T5 v1.1, mT5, umT5, ByT5 and CodeT5, fine-tuned to generate text.

    config.json          sizes; relative position bias, RMS norm, unscaled attention scores
    model.safetensors    or its shards, or pytorch_model.bin
    spiece.model         SentencePiece model; sentinel tokens such as <extra_id_0> have the ids after its pieces

umT5 (https://arxiv.org/abs/2304.09151) has a position bias per layer. The tokens of ByT5
(https://arxiv.org/abs/2105.13626) are bytes, so it needs no vocabulary file; `tokenizer_config.json` names its class.
CodeT5 (https://arxiv.org/abs/2109.00859) has the byte-level BPE of RoBERTa, and its source is enclosed in <s> and </s>.

The language pair is a prefix of the sentence: "translate English to German: ".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headlight.model.checkpoints.reader import CONFIG, FolderReader
from headlight.model.checkpoints.storage import Weights, read_json
from headlight.model.core.config import TransformerConfig
from headlight.model.decoding.generation_defaults import GenerationDefaults
from headlight.model.errors import ConfigError, TokenizerError
from headlight.model.families.bart_family import start_fields
from headlight.model.families.byte_level import MERGES, TOKENIZER_FILE, VOCABULARY, read_byte_pairs, special_token_id
from headlight.model.families.family_reader import (
    ADVICE,
    GENERIC_TOKENIZERS,
    OUTPUT,
    TABLE,
    TARGET_TABLE,
    TOKENIZER_CONFIG,
    ConfigFields,
    FamilyReader,
    pad_entries,
    read_generation_defaults,
    read_optional_json,
    tokenizer_class,
    vocabulary_entries,
)
from headlight.model.families.unigram import read_pieces
from headlight.model.text.byte_pairs import SPECIAL, ByteEntry, BytePairTokenizer, BytePairVocabulary
from headlight.model.text.byte_tokens import BYTE_CHARACTERS
from headlight.model.text.languages import Language, Languages
from headlight.model.text.piece_tokenizer import PieceTokenizer
from headlight.model.text.vocabulary import Vocabulary

PIECES = "spiece.model"
DEFAULTS: dict[str, Any] = {
    "vocab_size": 32_128, "d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 6, "num_heads": 8,
    "relative_attention_num_buckets": 32, "relative_attention_max_distance": 128, "layer_norm_epsilon": 1e-6,
    "feed_forward_proj": "relu", "pad_token_id": 0, "eos_token_id": 1, "n_positions": 512, "tie_word_embeddings": True,
}  # fmt: skip
SCALE_OUTPUT_KEY = "scale_decoder_outputs"
BYTE_TOKENIZER, FIRST_TOKENS = "ByT5Tokenizer", ("<pad>", "</s>", "<unk>")
BYTE_PAIR_TOKENIZER = "RobertaTokenizer"
FAMILY_DEFAULTS: dict[str, dict[str, Any]] = {
    "mt5": {"vocab_size": 250_112, "d_ff": 1024, "num_layers": 8, "num_heads": 6, "feed_forward_proj": "gated-gelu"},
    "umt5": {"vocab_size": 250_112, "d_ff": 1024, "num_layers": 8, "num_heads": 6, "feed_forward_proj": "gated-gelu"},
}
FEED_FORWARD = {
    "relu": "relu", "gelu": "gelu", "gelu_new": "gelu_tanh", "silu": "silu", "swish": "silu",
    "gated-gelu": "geglu", "gated-gelu_new": "geglu", "gated-silu": "swiglu", "gated-swish": "swiglu",
    "gated-relu": "reglu",
}  # fmt: skip
FEED_FORWARD_NAMES = {"wide": ("wi", "wi_1"), "gate": ("wi_0",), "narrow": ("wo",)}  # "wi_1" if gated
ATTENTION = {"query": "q", "key": "k", "value": "v", "output": "o"}
BIAS = "layer.0.SelfAttention.relative_attention_bias.weight"
_ENCODER, _DECODER = "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"
TABLES = {
    TABLE: (_ENCODER, "shared.weight", _DECODER, "lm_head.weight"),
    TARGET_TABLE: (_DECODER, "shared.weight", _ENCODER, "lm_head.weight"),
    OUTPUT: ("lm_head.weight", _DECODER, "shared.weight", _ENCODER),
}
NAME = r"\w(?:[\w ()'-]*[\w)])?"  # of a language in a prefix
PREFIX = re.compile(rf"translate +(?P<source>{NAME}) +to +(?P<target>{NAME}) *: *", re.IGNORECASE)


class T5(FamilyReader):
    """Folders of `model_type` "t5", "mt5" and "umt5"."""

    embedding_tables = TABLES
    tokenizer_classes = ("T5Tokenizer", "MT5Tokenizer", BYTE_TOKENIZER, BYTE_PAIR_TOKENIZER)
    # Old folders have a bias for cross-attention, which uses no positions.
    optional_tensors = (r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight",)

    def map_config(self, folder: Path, values: dict[str, Any]) -> TransformerConfig:
        family = str(values.get("model_type"))
        is_byte_model = tokenizer_class(folder, values) == BYTE_TOKENIZER
        byte_defaults = {"n_positions": 1024} if is_byte_model else {}  # length of the training texts
        defaults = DEFAULTS | FAMILY_DEFAULTS.get(family, {}) | byte_defaults
        fields = ConfigFields(values | start_fields(folder), defaults, folder / CONFIG)
        fields.require_neutral(quantization_config=None)
        size, pad = fields.integer("vocab_size"), fields.token_id("pad_token_id")
        activation = fields.choice("feed_forward_proj", FEED_FORWARD)
        gated, _, function = fields.text("feed_forward_proj").rpartition("-")
        # `transformers` stores fields derived from `feed_forward_proj`, and builds its model from the stored fields.
        fields.require_neutral(
            is_gated_act=bool(gated), dense_act_fn="gelu_new" if gated and function == "gelu" else function
        )
        return TransformerConfig(
            source_vocabulary=size,
            target_vocabulary=size,
            d_model=fields.integer("d_model"),
            heads=fields.integer("num_heads"),
            head_width=fields.integer("d_kv"),
            d_ff=fields.integer("d_ff"),
            encoder_layers=fields.integer("num_layers"),
            decoder_layers=fields.integer("num_decoder_layers" if fields.has("num_decoder_layers") else "num_layers"),
            positions="relative",
            relative_buckets=fields.integer("relative_attention_num_buckets"),
            relative_max_distance=fields.integer("relative_attention_max_distance"),
            relative_each_layer=family == "umt5",
            max_length=fields.integer("n_positions"),
            activation=activation,
            norm="rms",
            norm_first=True,
            final_norm=True,
            norm_epsilon=fields.number("layer_norm_epsilon"),
            attention_bias=False,
            feed_forward_bias=False,
            scale_embedding=False,
            scale_scores=False,
            scale_output=family != "mt5"
            and fields.boolean(SCALE_OUTPUT_KEY if fields.has(SCALE_OUTPUT_KEY) else "tie_word_embeddings"),
            dropout=0.0,
            pad_id=pad,
            start_id=fields.token_id("decoder_start_token_id") if fields.has("decoder_start_token_id") else pad,
            end_id=fields.token_ids("eos_token_id")[0],
        )

    def complete_config(self, config: TransformerConfig, store: Weights) -> TransformerConfig:
        """Tie the tables according to the weights; raise a ConfigError if it is unclear whether the output is scaled.

        `transformers` before version 5 scales the output of models with one table (T5 v1.0), and writes
        `tie_word_embeddings: false` for models with two tables. Version 5 writes true for all models, and adds
        `scale_decoder_outputs` for T5, but not for umT5.
        """
        completed = super().complete_config(config, store)
        if (
            completed.scale_output
            and not completed.tie_output
            and SCALE_OUTPUT_KEY not in read_json(store.folder / CONFIG)
        ):
            raise ConfigError(
                f"{store.folder / CONFIG}: output and embeddings share a table, but the weights have two, so it is "
                f'unclear whether the output is scaled. Add "{SCALE_OUTPUT_KEY}": false for a model like T5 v1.1 or '
                "umT5, true for one like T5 v1.0."
            )
        return completed

    def tensor_names(self, name: str) -> Sequence[str]:
        stored_name = t5_tensor_name(name)
        for part, names in FEED_FORWARD_NAMES.items():
            if f"DenseReluDense.{part}." in stored_name:
                return [stored_name.replace(f".{part}.", f".{name}.") for name in names]
        return [stored_name]

    def load_weight(self, store: Weights, name: str) -> Tensor:
        first_name = t5_tensor_name(name)
        if not first_name.endswith(BIAS) or (second_name := first_name.replace(".0.", ".1.", 1)) not in store:
            return super().load_weight(store, name)
        tables = [first_name, second_name]  # umT5: one table per layer
        while (next_name := first_name.replace(".0.", f".{len(tables)}.", 1)) in store:
            tables.append(next_name)
        return torch.stack([store.read(table) for table in tables])

    def tokenizers(self, folder: Path, config: TransformerConfig) -> tuple[Vocabulary, Vocabulary]:
        if tokenizer_class(folder) == BYTE_TOKENIZER:
            byte_tokenizer = byte_vocabulary(folder, config)
            return byte_tokenizer, byte_tokenizer
        if has_byte_pairs(folder):
            pair_tokenizer = read_byte_pairs(
                folder, config.source_vocabulary, pad_id=config.pad_id, start_id=config.start_id, end_id=config.end_id
            )
            return pair_tokenizer, pair_tokenizer
        return self._read_piece_tokenizer(folder, config)

    def _read_piece_tokenizer(self, folder: Path, config: TransformerConfig) -> tuple[Vocabulary, Vocabulary]:
        settings = read_optional_json(folder, TOKENIZER_CONFIG)
        model = read_pieces(folder, PIECES)
        texts = [piece.text for piece in model.pieces]
        count = settings.get("extra_ids", 100)
        if type(count) is not int or not 0 <= count <= config.source_vocabulary:
            raise TokenizerError(f"{folder}: extra_ids is {count!r}, but must fit the vocabulary. Download it again.")
        sentinels = [f"<extra_id_{number}>" for number in reversed(range(count))]
        piece_texts = set(texts)
        texts += [sentinel for sentinel in sentinels if sentinel not in piece_texts]
        special = {"<pad>", "</s>", "<unk>", *sentinels}
        tokenizer = PieceTokenizer(
            model,
            pad_entries(vocabulary_entries(model, texts, special), config.source_vocabulary, str(folder)),
            pad_id=config.pad_id,
            start_id=config.start_id,
            end_id=config.end_id,
            unknown_id=texts.index("<unk>") if "<unk>" in texts else -1,
            trims="first",
            cleans=settings.get("clean_up_tokenization_spaces") is True,
        )
        return tokenizer, tokenizer

    def languages(self, folder: Path, config: TransformerConfig, source: Vocabulary) -> Languages:
        """Return the language pairs of the folder's tasks, with their prefixes."""
        if has_byte_pairs(folder):
            assert isinstance(source, BytePairTokenizer)  # noqa: S101 - from `tokenizers`
            return Languages(before=(special_token_id(folder, source, "cls_token", "<s>"),))
        results: dict[str, Language] = {}
        sources: list[str] = []
        for task in _tasks(folder).values():
            match = PREFIX.fullmatch(task["prefix"])
            if match:
                sources.append(match["source"])
                results[match["source"] + "→" + match["target"]] = Language(code=match["target"], text=task["prefix"])
        if not results:
            return Languages()
        if len(set(sources)) > 1:  # the target does not determine the pair
            pairs = tuple(replace(language, code=pair) for pair, language in results.items())
            return Languages(targets=pairs, target=pairs[0].code)
        targets = tuple(results.values())
        return Languages(
            sources=(Language(code=sources[0]),), source=sources[0], targets=targets, target=targets[0].code
        )

    def generation_defaults(self, folder: Path, config: TransformerConfig, languages: Languages) -> GenerationDefaults:
        task = next(iter(_tasks(folder).values()), {}) if languages.targets else {}
        return read_generation_defaults(folder, config, languages, task)


def has_byte_pairs(folder: Path) -> bool:
    """Whether the folder has the byte-level BPE of RoBERTa, by its tokenizer class or else by its files."""
    class_name = tokenizer_class(folder)
    if class_name and class_name not in GENERIC_TOKENIZERS:
        return class_name == BYTE_PAIR_TOKENIZER
    if (folder / PIECES).exists():
        return False
    pre_tokenizer = read_optional_json(folder, TOKENIZER_FILE).get("pre_tokenizer")
    is_byte_level = isinstance(pre_tokenizer, dict) and pre_tokenizer.get("type") == "ByteLevel"
    return is_byte_level or any((folder / name).exists() for name in (VOCABULARY, MERGES))


def byte_vocabulary(folder: Path, config: TransformerConfig) -> BytePairTokenizer:
    """Create the vocabulary of ByT5: padding, end and unknown tokens, the 256 bytes, then sentinel tokens."""
    first_sentinel = len(FIRST_TOKENS) + len(BYTE_CHARACTERS)
    if config.source_vocabulary < first_sentinel:
        raise ConfigError(
            f"{folder / CONFIG}: vocab_size is {config.source_vocabulary}, but bytes need {first_sentinel}. {ADVICE}"
        )
    texts = [f"<extra_id_{index}>" for index in range(config.source_vocabulary - first_sentinel)]
    special = [ByteEntry(text, SPECIAL) for text in texts]
    return BytePairTokenizer(
        BytePairVocabulary(
            entries=(
                *(ByteEntry(token, SPECIAL) for token in FIRST_TOKENS),
                *map(ByteEntry, BYTE_CHARACTERS),
                *special,
            ),
            merges=(),
            splits=False,
            pad_id=config.pad_id,
            start_id=config.start_id,
            end_id=config.end_id,
        )
    )


def _tasks(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the translation tasks of `config.json`, by name."""
    parameters = read_json(folder / CONFIG).get("task_specific_params")
    tasks = parameters.items() if isinstance(parameters, dict) else ()
    return {
        name: task
        for name, task in tasks
        if name.startswith("translation") and isinstance(task, dict) and isinstance(task.get("prefix"), str)
    }


def t5_tensor_name(name: str) -> str:
    """Map the name of a tensor of our model to T5's name."""
    side, _, rest = name.partition(".")
    if rest == "final_norm.weight":
        return f"{side}.final_layer_norm.weight"
    if rest == "embedding.positions.table":
        return f"{side}.block.0.{BIAS}"
    match = re.fullmatch(r"layers\.(\d+)\.(.+)\.weight", rest)
    if match is None:
        return name
    layer, part = f"{side}.block.{match[1]}.layer", match[2]
    feed_forward_index = 1 if side == "encoder" else 2
    sublayer_indices = {"self_attention": 0, "cross_attention": 1, "feed_forward": feed_forward_index}
    if part.startswith("around_"):
        return f"{layer}.{sublayer_indices[part.removeprefix('around_').removesuffix('.norm')]}.layer_norm.weight"
    module, _, leaf = part.partition(".")
    if module == "feed_forward":
        return f"{layer}.{feed_forward_index}.DenseReluDense.{leaf}.weight"
    attention_name = {"self_attention": "SelfAttention", "cross_attention": "EncDecAttention"}[module]
    return f"{layer}.{sublayer_indices[module]}.{attention_name}.{ATTENTION[leaf]}.weight"


def reader() -> FolderReader:
    """Return the reader of this family."""
    return T5()
