"""Folders that the current `transformers` saves, in every variant: all numbers match within 1e-4.

The folders are not edited. A variant that the core does not support raises an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from headlight.model.errors import ConfigError, TokenizerError
from tests.compare import assert_close
from tests.model.families.folders import bart, m2m, marian, mbart, nllb, pegasus, t5, translator

Maker = Callable[..., Path]
BART_LIKE: dict[str, Maker] = {
    "marian": marian, "m2m": m2m, "nllb": nllb, "bart": bart, "mbart": mbart, "pegasus": pegasus
}  # fmt: skip
T5_LIKE = ("t5", "mt5", "umt5")
GATED = ("gated-gelu", "gated-silu", "gated-relu", "gated-gelu_new")
VARIANTS: dict[str, tuple[Maker, dict[str, Any]]] = {
    **{
        f"{name} {tied} {scaled} {activation}": (
            make,
            {"tie_word_embeddings": tied, "scale_embedding": scaled, "activation_function": activation},
        )
        for name, make in BART_LIKE.items()
        for tied, scaled, activation in (
            (True, True, "gelu_pytorch_tanh"), (True, False, "gelu"), (False, True, "silu"), (False, False, "relu")
        )
    },
    "marian with two tables": (marian, {"share_encoder_decoder_embeddings": False}),
    "marian with three tables": (
        marian,
        {"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False},
    ),
    **{
        f"{family} {'untied' if untied else 'tied'} {forward}": (
            t5,
            {"family": family, "untied": untied, "feed_forward_proj": forward, "tasks": False},
        )
        for family in T5_LIKE
        for untied, forward in (
            (False, "gated-gelu"), (False, "relu"), (False, "gelu"), (True, "gated-silu"), (True, "gelu_new")
        )
        if not (family == "umt5" and untied)
    },
    "t5 v1.1, flan-t5": (t5, {"feed_forward_proj": "gated-gelu", "untied": True}),
    "byt5": (t5, {"feed_forward_proj": "gated-gelu", "untied": True, "in_bytes": True, "tasks": False}),
    "t5 gated by relu": (t5, {"feed_forward_proj": "gated-relu", "untied": True}),
    "t5 v1.0 untied": (t5, {"untied": True, "tie_word_embeddings": True}),
    "t5 v1.1 tied": (t5, {"tie_word_embeddings": False}),
    "t5 with few buckets": (t5, {"relative_attention_num_buckets": 4, "relative_attention_max_distance": 9}),
    "t5 with fewer decoder layers": (t5, {"num_decoder_layers": 1}),
    "codet5": (t5, {"of_code": True, "tasks": False}),
    "codet5 in two files": (t5, {"of_code": True, "apart": True, "tasks": False}),
}  # fmt: skip


@pytest.mark.slow(after=8)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_matches_transformers(variant: str, tmp_path: Path) -> None:
    make, fields = VARIANTS[variant]
    folder = make(tmp_path / "model", **fields)
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder, attn_implementation="eager").eval()
    ours = translator(folder)
    result = ours.translate("Der Wind weht.", beam_size=1, max_length=7)
    source = torch.tensor([[token.id for token in result.source_tokens]])
    decoder_ids = torch.tensor([[ours.model.config.start_id, *(token.id for token in result.target_tokens)][:-1]])
    with torch.no_grad():
        expected = theirs(source, decoder_input_ids=decoder_ids, output_attentions=True)
        logits = ours.model(source, decoder_ids)
    assert_close(logits, expected.logits, tolerance=1e-4, of="logits")
    for kind in ("encoder", "decoder", "cross"):
        maps = torch.stack(expected[f"{kind}_attentions"])[:, 0]
        assert_close(torch.tensor(result.attention.of(kind)), maps, tolerance=1e-4, of=kind)  # type: ignore[arg-type]


# Folders that `transformers` loads and saves again with `save_pretrained`.
UNTIED_T5 = {"untied": True, "feed_forward_proj": "gated-gelu", "tasks": False}
SAVED_AGAIN: dict[str, tuple[Maker, dict[str, Any]]] = {
    "marian": (marian, {}),
    "marian with two vocabularies": (marian, {"separate": True}),
    **{f"{name} untied": (make, {"tie_word_embeddings": False}) for name, make in BART_LIKE.items()},
    "t5 v1.0": (t5, {}),
    "t5 v1.1": (t5, UNTIED_T5),
    "t5 v1.1 of version 4": (t5, UNTIED_T5 | {"of_version_4": True}),
    "mt5 of version 4": (t5, UNTIED_T5 | {"family": "mt5", "of_version_4": True}),
    "umt5": (t5, {"family": "umt5", "tasks": False}),
    "byt5 of version 4": (t5, UNTIED_T5 | {"in_bytes": True, "of_version_4": True}),
    "codet5": (t5, {"of_code": True, "tasks": False}),
}


@pytest.mark.slow(after=8)
@pytest.mark.parametrize("change", ["more entries", "shards"])
@pytest.mark.parametrize("variant", SAVED_AGAIN)
def test_resaved_folder_matches_transformers(variant: str, change: str, tmp_path: Path) -> None:
    """The reference is the saved model itself: `transformers` loses untied tables that it resized."""
    make, fields = SAVED_AGAIN[variant]
    folder = make(tmp_path / "model", **fields)
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)
    if change == "more entries":
        theirs.resize_token_embeddings(theirs.get_input_embeddings().num_embeddings + 7, mean_resizing=False)
    (folder / "model.safetensors").unlink()
    theirs.save_pretrained(folder, **({"max_shard_size": "20KB"} if change == "shards" else {}))
    assert (folder / "model.safetensors").exists() == (change != "shards")
    ours = translator(folder)
    source, target = torch.tensor([[15, 16, 17, 18, 19]]), torch.tensor([[ours.model.config.start_id, 23, 29, 31]])
    with torch.no_grad():
        expected = theirs.eval()(source, decoder_input_ids=target).logits
        logits = ours.model(source, target)
    assert_close(logits / expected.std(), expected / expected.std(), tolerance=1e-4, of="logits")


UNSUPPORTED: dict[str, tuple[Maker, dict[str, Any], str]] = {
    "another activation": (bart, {"activation_function": "quick_gelu"}, "activation_function is 'quick_gelu'"),
    "different numbers of heads": (mbart, {"decoder_attention_heads": 1}, "they must be equal"),
    "different feed-forward widths": (pegasus, {"decoder_ffn_dim": 31}, "they must be equal"),
    "another gate": (t5, {"feed_forward_proj": "gated-tanh"}, "feed_forward_proj is 'gated-tanh'"),
    "umt5 untied": (t5, {"family": "umt5", "untied": True}, "it is unclear whether the output"),
}


@pytest.mark.parametrize("variant", UNSUPPORTED)
def test_unsupported_variant_raises(variant: str, tmp_path: Path) -> None:
    make, fields, message = UNSUPPORTED[variant]
    folder = make(tmp_path / "model", **fields)
    with pytest.raises(ConfigError, match=message):
        translator(folder)


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("family", ["t5", "umt5"])
def test_missing_output_scale_raises_and_added_one_is_used(family: str, scaled: bool, tmp_path: Path) -> None:
    """Folders saved by a version of `transformers` without this field: the error message tells the user to add it."""
    folder = t5(tmp_path / "model", family=family, untied=True, tasks=False)
    values = json.loads((folder / "config.json").read_text())
    values.pop("scale_decoder_outputs", None)
    (folder / "config.json").write_text(json.dumps(values))
    with pytest.raises(ConfigError, match='Add "scale_decoder_outputs": false'):
        translator(folder)
    (folder / "config.json").write_text(json.dumps(values | {"scale_decoder_outputs": scaled}))
    assert translator(folder).model.config.scale_output == scaled


def test_contradictory_activation_raises(tmp_path: Path) -> None:
    """`transformers` uses `dense_act_fn`, even if `feed_forward_proj` names another activation."""
    folder = t5(tmp_path / "model", tasks=False)
    config = transformers.AutoConfig.from_pretrained(folder)
    config.dense_act_fn = "silu"
    config.save_pretrained(folder)
    with pytest.raises(ConfigError, match="dense_act_fn is 'silu', but only 'relu' is supported"):
        translator(folder)


@pytest.mark.parametrize("settings", [None, {"tokenizer_class": "PreTrainedTokenizerFast"}, {}])
def test_codet5_is_detected_by_files_without_tokenizer_class(settings: dict[str, str] | None, tmp_path: Path) -> None:
    folder = t5(tmp_path / "model", of_code=True, tasks=False)
    expected = translator(folder).translate("def f(x)", max_length=3)
    (folder / "tokenizer_config.json").unlink()
    if settings is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    result = translator(folder).translate("def f(x)", max_length=3)
    assert (result.text, result.source_tokens) == (expected.text, expected.source_tokens)
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.json").write_text("{}")
    with pytest.raises(TokenizerError, match=r"merges\.txt is missing, as is tokenizer\.json\. Download it again"):
        translator(folder)


@pytest.mark.parametrize("apart", [False, True])
def test_codet5_tokenizer_matches_transformers(apart: bool, tmp_path: Path) -> None:
    folder = t5(tmp_path / "model", of_code=True, apart=apart, tasks=False)
    theirs = transformers.RobertaTokenizer.from_pretrained(folder)
    ours = translator(folder)
    for text in ("Der Wind weht.", "def f(x): return x", "日本 ½"):
        assert [token.id for token in ours.translate(text, max_length=1).source_tokens] == theirs(text).input_ids
