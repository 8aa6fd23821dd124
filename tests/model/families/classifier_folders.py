"""Small random folders of classifiers, written by `transformers` itself, and what it makes of them."""

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

from tests.model.families.texts import LINES, learn_bytes

BERT = {
    "hidden_size": 20, "num_attention_heads": 5, "intermediate_size": 23, "num_hidden_layers": 3,
    "max_position_embeddings": 61, "type_vocab_size": 2,
}  # fmt: skip
DISTILBERT = {"dim": 21, "n_heads": 3, "hidden_dim": 19, "n_layers": 2, "max_position_embeddings": 67}
NAMES = ("anger", "joy", "fear", "surprise", "calm")


@cache
def learn_words(size: int = 400, *, lowercase: bool = True) -> tuple[str, ...]:
    """Pieces of words of our sentences, by id: the special tokens first."""
    made = tokenizers.BertWordPieceTokenizer(lowercase=lowercase)
    made.train_from_iterator(LINES * 2, vocab_size=size, min_frequency=1, show_progress=False)
    pieces = made.get_vocab()
    return tuple(sorted(pieces, key=pieces.__getitem__))


def labels(count: int) -> dict[str, Any]:
    """So many classes with names."""
    return {"id2label": dict(enumerate(NAMES[:count])), "label2id": {NAMES[place]: place for place in range(count)}}


def bert(
    folder: Path, *, classes: int = 3, apart: bool = False, words: dict[str, Any] | None = None, seed: int = 3,
    **fields: Any,
) -> Path:  # fmt: skip
    """A folder like BERT's; `apart`: its vocabulary is vocab.txt alone; `words`: options of its tokenizer."""
    size = word_pieces(folder, transformers.BertTokenizer, apart=apart, **words or {})
    config = transformers.BertConfig(**BERT | labels(classes) | {"vocab_size": size} | fields)
    return _saved(folder, transformers.BertForSequenceClassification(config), seed)


def distilbert(folder: Path, *, classes: int = 2, apart: bool = False, seed: int = 3, **fields: Any) -> Path:
    """A folder like DistilBERT's."""
    size = word_pieces(folder, transformers.DistilBertTokenizer, apart=apart)
    config = transformers.DistilBertConfig(**DISTILBERT | labels(classes) | {"vocab_size": size} | fields)
    return _saved(folder, transformers.DistilBertForSequenceClassification(config), seed)


def roberta(folder: Path, *, classes: int = 3, apart: bool = False, seed: int = 3, **fields: Any) -> Path:
    """A folder like RoBERTa's."""
    folder.mkdir(parents=True, exist_ok=True)
    pieces, merges = learn_bytes()
    if apart:
        (folder / "vocab.json").write_text(json.dumps(pieces))
        (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *map(" ".join, merges)]), encoding="utf-8")
    else:
        transformers.RobertaTokenizer(pieces, merges).save_pretrained(folder)
    config = transformers.RobertaConfig(**BERT | labels(classes) | {"vocab_size": len(pieces)} | fields)
    return _saved(folder, transformers.RobertaForSequenceClassification(config), seed)


def word_pieces(folder: Path, kind: Any, *, apart: bool = False, **options: Any) -> int:
    """Write a vocabulary; how many entries it has."""
    folder.mkdir(parents=True, exist_ok=True)
    pieces = learn_words(lowercase=options.get("do_lower_case", True))
    if apart:
        (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
        (folder / "tokenizer_config.json").write_text(json.dumps(options))
    else:
        kind({piece: place for place, piece in enumerate(pieces)}, **options).save_pretrained(folder)
    return len(pieces)


def _saved(folder: Path, model: Any, seed: int) -> Path:
    """Numbers under which all parts matter."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            middle = 1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0
            parameter.copy_(middle + 0.3 * torch.randn_like(parameter))
    model.eval().save_pretrained(folder)
    return folder


# ---------------------------------------------------------------- what transformers makes of it


@cache
def reference(folder: Path) -> Any:
    """The model as `transformers` loads it."""
    kind = transformers.AutoModelForSequenceClassification
    return kind.from_pretrained(folder, attn_implementation="eager").eval()


def tokenizer_of(folder: Path) -> Any:
    """The tokenizer as `transformers` loads it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return transformers.AutoTokenizer.from_pretrained(folder)


def seen(folder: Path, ids: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Logits and all attention, `[layer, head, query, key]`, of the ids of one text."""
    with torch.no_grad():
        found = reference(folder)(torch.tensor([ids]), output_attentions=True)
    return found.logits[0], torch.stack(found.attentions)[:, 0]
