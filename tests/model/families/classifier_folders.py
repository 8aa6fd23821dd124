"""Small random classifier folders, written by `transformers`, and its outputs for them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers
from torch import Tensor

from headlight.model.families.family_reader import TOKENIZER_CONFIG
from headlight.model.text.sentencepiece import parse_sentencepiece
from tests.model.families.texts import LINES, learn, learn_bytes

BERT = {
    "hidden_size": 20, "num_attention_heads": 5, "intermediate_size": 23, "num_hidden_layers": 3,
    "max_position_embeddings": 61, "type_vocab_size": 2,
}  # fmt: skip
DISTILBERT = {"dim": 21, "n_heads": 3, "hidden_dim": 19, "n_layers": 2, "max_position_embeddings": 67}
DEBERTA = {
    "relative_attention": True, "position_biased_input": False, "pos_att_type": ["p2c", "c2p"], "share_att_key": True,
    "position_buckets": 8, "norm_rel_ebd": "layer_norm", "type_vocab_size": 0, "pooler_hidden_size": 20,
    "max_relative_positions": -1,
}  # fmt: skip
NAMES = ("anger", "joy", "fear", "surprise", "calm")


@cache
def learn_words(size: int = 400, *, lowercase: bool = True) -> tuple[str, ...]:
    """Word pieces learned from `LINES`, ordered by id; special tokens come first."""
    tokenizer = tokenizers.BertWordPieceTokenizer(lowercase=lowercase)
    tokenizer.train_from_iterator(LINES * 2, vocab_size=size, min_frequency=1, show_progress=False)
    pieces = tokenizer.get_vocab()
    return tuple(sorted(pieces, key=pieces.__getitem__))


def labels(count: int) -> dict[str, Any]:
    """The first `count` classes with their names."""
    return {"id2label": dict(enumerate(NAMES[:count])), "label2id": {NAMES[index]: index for index in range(count)}}


def bert(
    folder: Path, *, classes: int = 3, apart: bool = False, words: dict[str, Any] | None = None, seed: int = 3,
    **fields: Any,
) -> Path:  # fmt: skip
    """A BERT folder. `apart`: write only vocab.txt, no tokenizer.json. `words`: options of the tokenizer."""
    size = word_pieces(folder, transformers.BertTokenizer, apart=apart, **words or {})
    config = transformers.BertConfig(**BERT | labels(classes) | {"vocab_size": size} | fields)
    return _save(folder, transformers.BertForSequenceClassification(config), seed)


def distilbert(folder: Path, *, classes: int = 2, apart: bool = False, seed: int = 3, **fields: Any) -> Path:
    """A DistilBERT folder."""
    size = word_pieces(folder, transformers.DistilBertTokenizer, apart=apart)
    config = transformers.DistilBertConfig(**DISTILBERT | labels(classes) | {"vocab_size": size} | fields)
    return _save(folder, transformers.DistilBertForSequenceClassification(config), seed)


def roberta(folder: Path, *, classes: int = 3, apart: bool = False, seed: int = 3, **fields: Any) -> Path:
    """A RoBERTa folder."""
    folder.mkdir(parents=True, exist_ok=True)
    pieces, merges = learn_bytes()
    if apart:
        (folder / "vocab.json").write_text(json.dumps(pieces))
        (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *map(" ".join, merges)]), encoding="utf-8")
    else:
        transformers.RobertaTokenizer(pieces, merges).save_pretrained(folder)
    config = transformers.RobertaConfig(**BERT | labels(classes) | {"vocab_size": len(pieces)} | fields)
    return _save(folder, transformers.RobertaForSequenceClassification(config), seed)


def electra(folder: Path, *, classes: int = 3, apart: bool = False, seed: int = 3, **fields: Any) -> Path:
    """An ELECTRA folder. Its embeddings are as wide as its layers unless `embedding_size` says otherwise."""
    size = word_pieces(folder, transformers.BertTokenizer, apart=apart)
    sizes = BERT | {"embedding_size": fields.get("hidden_size", BERT["hidden_size"])} | labels(classes)
    config = transformers.ElectraConfig(**sizes | {"vocab_size": size} | fields)
    return _save(folder, transformers.ElectraForSequenceClassification(config), seed)


def albert(
    folder: Path, *, classes: int = 3, apart: bool = False, words: dict[str, Any] | None = None, seed: int = 3,
    **fields: Any,
) -> Path:  # fmt: skip
    """An ALBERT folder. `apart`: the vocabulary is a SentencePiece file alone. `words`: options of the tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    data = learn(pad_id=0, unk_id=1, bos_id=2, eos_id=3, bos_piece="[CLS]", eos_piece="[SEP]", control_symbols="[MASK]")
    model = parse_sentencepiece(data)
    if apart:
        (folder / "spiece.model").write_bytes(data)
        (folder / TOKENIZER_CONFIG).write_text(json.dumps({"tokenizer_class": "AlbertTokenizer"} | (words or {})))
    else:
        pieces = [(text, score) for text, score, _ in model.pieces]
        charsmap = model.normalisation.charsmap
        kind = transformers.AlbertTokenizer
        kind(vocab=pieces, _spm_precompiled_charsmap=charsmap, **words or {}).save_pretrained(folder)
    sizes = BERT | {"embedding_size": 11, "vocab_size": len(model.pieces)} | labels(classes)
    config = transformers.AlbertConfig(**sizes | {"bos_token_id": 2, "eos_token_id": 3} | fields)
    return _save(folder, transformers.AlbertForSequenceClassification(config), seed)


def deberta(
    folder: Path, *, classes: int = 3, apart: bool = False, words: dict[str, Any] | None = None, seed: int = 3,
    **fields: Any,
) -> Path:  # fmt: skip
    """A DeBERTa-v3 folder. `apart`: the vocabulary is a SentencePiece file alone. `words`: options of the tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    signs = {"bos_piece": "[CLS]", "eos_piece": "[SEP]", "pad_piece": "[PAD]", "unk_piece": "[UNK]"}
    data = learn(pad_id=0, bos_id=1, eos_id=2, unk_id=3, control_symbols="[MASK]", **signs)
    pieces = [(text, score) for text, score, _ in parse_sentencepiece(data).pieces]
    if apart:
        (folder / "spm.model").write_bytes(data)
        (folder / TOKENIZER_CONFIG).write_text(json.dumps({"tokenizer_class": "DebertaV2Tokenizer"}))
    else:
        kind = transformers.DebertaV2Tokenizer
        kind(vocab=pieces, unk_id=3, **words or {}).save_pretrained(folder)
    config = transformers.DebertaV2Config(**BERT | DEBERTA | {"vocab_size": len(pieces)} | labels(classes) | fields)
    return _save(folder, transformers.DebertaV2ForSequenceClassification(config), seed)


def word_pieces(folder: Path, kind: Any, *, apart: bool = False, **options: Any) -> int:
    """Write a vocabulary and return its size."""
    folder.mkdir(parents=True, exist_ok=True)
    pieces = learn_words(lowercase=options.get("do_lower_case", True))
    if apart:
        (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
        (folder / "tokenizer_config.json").write_text(json.dumps(options))
    else:
        kind({piece: index for index, piece in enumerate(pieces)}, **options).save_pretrained(folder)
    return len(pieces)


def _save(folder: Path, model: Any, seed: int) -> Path:
    """Save the model with random weights that make every part of it affect the output."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            middle = 1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0
            parameter.copy_(middle + 0.3 * torch.randn_like(parameter))
    model.eval().save_pretrained(folder)
    return folder


# ---------------------------------------------------------------- reference outputs from transformers


@cache
def reference(folder: Path) -> Any:
    """The model as `transformers` loads it."""
    kind = transformers.AutoModelForSequenceClassification
    return kind.from_pretrained(folder, attn_implementation="eager").eval()


def reference_tokenizer(folder: Path) -> Any:
    """The tokenizer as `transformers` loads it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return transformers.AutoTokenizer.from_pretrained(folder)


def reference_outputs(folder: Path, ids: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Logits and all attention, `[layer, head, query, key]`, for the ids of one text."""
    with torch.no_grad():
        outputs = reference(folder)(torch.tensor([ids]), output_attentions=True)
    return outputs.logits[0], torch.stack(outputs.attentions)[:, 0]
