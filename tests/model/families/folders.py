"""Small random model folders of each family, written by `transformers`, and its outputs for them.

Random models seldom end a sentence. `shaken=(seed, factor)` multiplies the embedding of the end token by the factor, so
that its logit is clearly the highest or clearly not.
"""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import sentencepiece
import torch
import transformers
from torch import Tensor

from headlight.model.core.masks import pad_sequences
from headlight.model.records import Translation
from headlight.model.translate.translator import Translator
from tests.model.families.texts import CYRILLIC, DEVANAGARI, HAN, LATIN, LINES, learn, learn_bytes

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()

Shaken = tuple[int, float]
LENGTHS = 3  # minimum number of different output lengths; equal lengths would test little
MARIAN = {
    "d_model": 77, "encoder_attention_heads": 7, "decoder_attention_heads": 7, "encoder_ffn_dim": 19,
    "decoder_ffn_dim": 19, "encoder_layers": 2, "decoder_layers": 3, "activation_function": "swish",
    "scale_embedding": True, "max_position_embeddings": 71, "eos_token_id": 0, "dropout": 0.0,
}  # fmt: skip
M2M = {
    "d_model": 65, "encoder_attention_heads": 5, "decoder_attention_heads": 5, "encoder_ffn_dim": 23,
    "decoder_ffn_dim": 23, "encoder_layers": 3, "decoder_layers": 2, "max_position_embeddings": 73, "dropout": 0.0,
    "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0,
}  # fmt: skip
T5 = {
    "d_model": 29, "d_kv": 11, "num_heads": 3, "d_ff": 37, "num_layers": 3, "num_decoder_layers": 2,
    "relative_attention_num_buckets": 10, "relative_attention_max_distance": 17, "decoder_start_token_id": 0,
}  # fmt: skip
BART = {
    "d_model": 65, "encoder_attention_heads": 5, "decoder_attention_heads": 5, "encoder_ffn_dim": 23,
    "decoder_ffn_dim": 23, "encoder_layers": 3, "decoder_layers": 2, "max_position_embeddings": 79, "dropout": 0.0,
}  # fmt: skip
TOKENIZER_CONFIG = "tokenizer_config.json"
CODES = ["ace_Latn", "deu_Latn", "eng_Latn", "fra_Latn", "rus_Cyrl", "zho_Hans"]


def piece_texts(data: bytes) -> list[str]:
    """The texts of all pieces of a SentencePiece model."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=data)
    return [processor.id_to_piece(index) for index in range(len(processor))]


# ---------------------------------------------------------------- a folder of each family


def marian(
    folder: Path, *, shaken: Shaken = (5, 5.0), separate: bool = False, codes: tuple[str, ...] = (), **fields: Any
) -> Path:
    """An OPUS-MT folder. `codes`: its target languages."""
    folder.mkdir(parents=True, exist_ok=True)
    source, target = learn(LATIN + CYRILLIC, vocab_size=211), learn(HAN + DEVANAGARI + LATIN, vocab_size=257)
    (folder / "source.spm").write_bytes(source)
    (folder / "target.spm").write_bytes(target)
    marks = [f">>{code}<<" for code in codes]
    sides = (
        [_pieces_with_special_tokens(source, marks), _pieces_with_special_tokens(target, [])]
        if separate
        else [_pieces_with_special_tokens(source, marks, target)]
    )
    for name, pieces in zip(("vocab.json", "target_vocab.json"), sides, strict=False):
        (folder / name).write_text(json.dumps({piece: index for index, piece in enumerate(pieces)}), encoding="utf-8")
    pad = len(sides[0]) - 1
    if separate:  # both vocabularies must have the same padding id
        pad = _share_padding(folder, sides)
    sizes = [pad + 1] if not separate else [len(side) for side in sides]
    config = transformers.MarianConfig(
        **MARIAN | {
            "vocab_size": sizes[0], "decoder_vocab_size": sizes[-1], "pad_token_id": pad, "decoder_start_token_id": pad,
            "forced_eos_token_id": 0, "share_encoder_decoder_embeddings": not separate,
        } | fields
    )  # fmt: skip
    model = transformers.MarianMTModel(config)
    shake(model, 0, shaken)
    with torch.no_grad():
        model.final_logits_bias.normal_()
    model.generation_config = transformers.GenerationConfig(
        num_beams=4, max_length=40, bad_words_ids=[[pad]], forced_eos_token_id=0, eos_token_id=0, pad_token_id=pad,
        decoder_start_token_id=pad, renormalize_logits=True,
    )  # fmt: skip
    model.save_pretrained(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns about a missing package that is unused here
        tokenizer = transformers.MarianTokenizer(
            str(folder / "source.spm"),
            str(folder / "target.spm"),
            str(folder / "vocab.json"),
            target_vocab_file=str(folder / "target_vocab.json") if separate else None,
            separate_vocabs=separate,
        )
    tokenizer.save_pretrained(folder)
    return folder


def fill_vocabulary(folder: Path, size: int) -> None:
    """Fill a Marian vocabulary with unused pieces before the padding, and update generation_config.json."""
    pieces = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    del pieces["<pad>"]
    pieces |= {f"▁nothing{index}": index for index in range(len(pieces), size - 1)} | {"<pad>": size - 1}
    (folder / "vocab.json").write_text(json.dumps(pieces), encoding="utf-8")
    path = folder / "generation_config.json"
    own = {"bad_words_ids": [[size - 1]], "pad_token_id": size - 1, "decoder_start_token_id": size - 1}
    path.write_text(json.dumps(json.loads(path.read_text()) | own))


def _pieces_with_special_tokens(first: bytes, marks: list[str], second: bytes | None = None) -> list[str]:
    pieces = ["</s>", "<unk>"]
    for data in (first, second):
        pieces += [piece for piece in (piece_texts(data) if data else []) if piece not in pieces]
    return [*pieces, *marks, "<pad>"]


def _share_padding(folder: Path, sides: list[list[str]]) -> int:
    pad = min(map(len, sides)) - 1
    for name, pieces in zip(("vocab.json", "target_vocab.json"), sides, strict=True):
        pieces.remove("<pad>")
        pieces.insert(pad, "<pad>")
        (folder / name).write_text(json.dumps({piece: index for index, piece in enumerate(pieces)}), encoding="utf-8")
    return pad


def m2m(folder: Path, *, shaken: Shaken = (2, 5.0), **fields: Any) -> Path:
    """An M2M100 folder."""
    folder.mkdir(parents=True, exist_ok=True)
    data = learn(model_type="bpe", vocab_size=463)
    (folder / "sentencepiece.bpe.model").write_bytes(data)
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *(piece for piece in piece_texts(data) if piece[0] != "<")]
    (folder / "vocab.json").write_text(json.dumps({piece: index for index, piece in enumerate(pieces)}))
    tokenizer = transformers.M2M100Tokenizer(
        str(folder / "vocab.json"), str(folder / "sentencepiece.bpe.model"), src_lang="de", tgt_lang="fr"
    )
    tokenizer.save_pretrained(folder)
    config = transformers.M2M100Config(**M2M | {"vocab_size": len(pieces) + 100 + 8} | fields)
    model = transformers.M2M100ForConditionalGeneration(config)
    shake(model, 2, shaken)
    model.generation_config = transformers.GenerationConfig(
        num_beams=5, max_length=31, eos_token_id=2, pad_token_id=1, decoder_start_token_id=2, early_stopping=True
    )
    model.save_pretrained(folder)
    return folder


def nllb(
    folder: Path, *, shaken: Shaken = (2, 3.0), algorithm: str = "bpe", legacy: bool = False, **fields: Any
) -> Path:
    """An NLLB-200 folder with six languages."""
    folder.mkdir(parents=True, exist_ok=True)
    data = learn(model_type=algorithm, vocab_size=467)
    (folder / "sentencepiece.bpe.model").write_bytes(data)
    pieces = piece_texts(data)
    (folder / "special_tokens_map.json").write_text(json.dumps({"additional_special_tokens": CODES}))
    settings = {"src_lang": "rus_Cyrl", "tgt_lang": "deu_Latn", "legacy_behaviour": legacy}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    config = transformers.M2M100Config(**M2M | {"vocab_size": len(pieces) + 1 + len(CODES) + 1 + 2} | fields)
    model = transformers.M2M100ForConditionalGeneration(config)
    shake(model, 2, shaken)
    model.generation_config = transformers.GenerationConfig(
        num_beams=4, max_length=33, eos_token_id=2, pad_token_id=1, decoder_start_token_id=2, early_stopping="never",
        length_penalty=0.7, no_repeat_ngram_size=3,
    )  # fmt: skip
    model.save_pretrained(folder)
    return folder


def bart(folder: Path, *, shaken: Shaken = (2, 3.0), apart: bool = False, **fields: Any) -> Path:
    """A BART folder. `apart`: write vocab.json and merges.txt instead of tokenizer.json."""
    folder.mkdir(parents=True, exist_ok=True)
    pieces = _byte_pairs(folder, transformers.BartTokenizer, apart=apart)
    config = transformers.BartConfig(**BART | {"vocab_size": len(pieces)} | fields)
    model = transformers.BartForConditionalGeneration(config)
    shake(model, 2, shaken)
    with torch.no_grad():
        model.final_logits_bias.normal_()
    model.generation_config = transformers.GenerationConfig(
        num_beams=4, max_length=37, eos_token_id=2, pad_token_id=1, decoder_start_token_id=2, early_stopping=True,
        forced_bos_token_id=0, forced_eos_token_id=2, no_repeat_ngram_size=3, length_penalty=2.0, min_length=4,
    )  # fmt: skip
    model.save_pretrained(folder)
    return folder


def _byte_pairs(folder: Path, kind: Any, *, apart: bool) -> dict[str, int]:
    """Write a byte-level BPE vocabulary: tokenizer.json, or two files if `apart`."""
    pieces, merges = learn_bytes()
    if apart:
        (folder / "vocab.json").write_text(json.dumps(pieces))
        (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *map(" ".join, merges)]), encoding="utf-8")
    else:
        kind(pieces, merges).save_pretrained(folder)
    return pieces


def mbart(folder: Path, *, shaken: Shaken = (4, 5.0), of_50: bool = True, **fields: Any) -> Path:
    """An mBART-50 folder, or an mBART folder."""
    folder.mkdir(parents=True, exist_ok=True)
    data = learn(vocab_size=467)
    (folder / "sentencepiece.bpe.model").write_bytes(data)
    kind = "MBart50Tokenizer" if of_50 else "MBartTokenizer"
    settings = {"src_lang": "de_DE", "tgt_lang": "zh_CN" if of_50 else None, "tokenizer_class": kind}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    first = len(piece_texts(data)) + 1  # id of the first language
    start = 2 if of_50 else first + 19  # Romanian
    config = transformers.MBartConfig(
        **BART | {"vocab_size": first + (52 if of_50 else 25) + 1, "decoder_start_token_id": start} | fields
    )
    model = transformers.MBartForConditionalGeneration(config)
    shake(model, 2, shaken)
    with torch.no_grad():
        model.final_logits_bias.normal_()
    model.generation_config = transformers.GenerationConfig(
        num_beams=5, max_length=33, eos_token_id=2, pad_token_id=1, decoder_start_token_id=start, early_stopping=True,
        forced_eos_token_id=2,
    )  # fmt: skip
    model.save_pretrained(folder)
    return folder


def pegasus(folder: Path, *, shaken: Shaken = (5, 5.0), **fields: Any) -> Path:
    """A Pegasus folder."""
    folder.mkdir(parents=True, exist_ok=True)
    data = learn(vocab_size=449, pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    (folder / "spiece.model").write_bytes(data)
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PegasusTokenizer"}))
    config = transformers.PegasusConfig(
        **BART | {"vocab_size": len(piece_texts(data)) + 103, "activation_function": "relu", "scale_embedding": True}
        | fields
    )  # fmt: skip
    model = transformers.PegasusForConditionalGeneration(config)
    shake(model, 1, shaken)
    with torch.no_grad():
        model.final_logits_bias.normal_()
    model.generation_config = transformers.GenerationConfig(
        num_beams=4, max_length=33, eos_token_id=1, pad_token_id=0, decoder_start_token_id=0, forced_eos_token_id=1,
        length_penalty=0.8,
    )  # fmt: skip
    model.save_pretrained(folder)
    return folder


def t5(
    folder: Path, *, shaken: Shaken = (1, 2.0), family: str = "t5", in_bytes: bool = False, tasks: bool = True,
    untied: bool = False, of_version_4: bool = False, of_code: bool = False, apart: bool = False, **fields: Any,
) -> Path:  # fmt: skip
    """A T5, mT5 or umT5 folder.

    `in_bytes`: ByT5, without a vocabulary file. `untied`: with a separate output matrix, as T5 v1.1. `of_version_4`: as
    written by `transformers` before version 5. `of_code`: CodeT5, with RoBERTa's tokenizer. `apart`: with vocab.json
    and merges.txt, and without a tokenizer class in tokenizer_config.json.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if in_bytes:
        size = 3 + 256 + 125
        settings: dict[str, Any] = {"tokenizer_class": "ByT5Tokenizer", "extra_ids": 125}
    elif of_code:
        _byte_pairs(folder, transformers.RobertaTokenizer, apart=apart)
        size, settings = len(learn_bytes()[0]), {} if apart else json.loads((folder / TOKENIZER_CONFIG).read_text())
        fields = {"pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1} | fields
    else:
        data = learn(vocab_size=449, pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
        (folder / "spiece.model").write_bytes(data)
        size, settings = len(piece_texts(data)) + 13 + 7, {"extra_ids": 13}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    language_names = {"de": "German", "fr": "French", "ro": "Romanian"}
    params = {
        f"translation_en_to_{code}": {
            "prefix": f"translate English to {name}: ", "max_length": 35, "num_beams": 4, "early_stopping": True
        }
        for code, name in language_names.items()
    }  # fmt: skip
    config_class = getattr(transformers, f"{family.upper()}Config")
    model_class = getattr(transformers, f"{family.upper()}ForConditionalGeneration")
    config = config_class(**T5 | {"vocab_size": size, "tie_word_embeddings": not untied} | fields)
    if tasks:
        config.task_specific_params = params | {"summarization": {"prefix": "summarize: ", "min_length": 30}}
    model = model_class(config)
    if untied:  # as `transformers` does when it loads weights that contain both matrices
        model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.shared.weight))
    shake(model, config.eos_token_id, shaken, spread=0.25, tables=2.0)
    model.generation_config = transformers.GenerationConfig(
        eos_token_id=config.eos_token_id, pad_token_id=config.pad_token_id,
        decoder_start_token_id=config.decoder_start_token_id, num_beams=4, max_length=35, early_stopping=True,
    )  # fmt: skip
    model.save_pretrained(folder)
    if of_version_4:
        values = json.loads((folder / "config.json").read_text()) | {"tie_word_embeddings": not untied}
        values.pop("scale_decoder_outputs", None)
        (folder / "config.json").write_text(json.dumps(values))
    return folder


def shake(model: Any, end: int, shaken: Shaken, *, spread: float = 0.15, tables: float = 1.0) -> None:
    """Set random weights that make every part affect the output, and let some sentences end early."""
    seed, factor = shaken
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not parameter.requires_grad:  # sinusoids
                continue
            middle = 1.0 if name.endswith("norm.weight") else 0.0
            scale = 1.0 if "relative_attention_bias" in name else spread
            parameter.copy_(middle + scale * torch.randn_like(parameter))
            if name.endswith(("fc2.weight", "wo.weight")):
                parameter *= 4  # without it, every output repeats one word
        scaled_tables: set[int] = set()
        for table in (model.get_input_embeddings(), model.get_output_embeddings()):
            if table is not None and table.weight.data_ptr() not in scaled_tables:
                scaled_tables.add(table.weight.data_ptr())
                table.weight *= tables
                table.weight[end] *= factor
    model.eval()


# ---------------------------------------------------------------- reference outputs from transformers


@cache
def reference(folder: Path) -> Any:
    """The model as `transformers` loads it."""
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder, attn_implementation="eager")
    values = json.loads((folder / "config.json").read_text())
    if values["model_type"] == "umt5" and values["tie_word_embeddings"] is False:
        # Version 5 scales the output of all models. Version 4, with which these models were trained, does not.
        model.config.tie_word_embeddings = False
    return model.eval()


def translator(folder: Path, **options: Any) -> Translator:
    """The same folder, loaded by Headlight."""
    return Translator.load(folder, device="cpu", **{"step_weights": "plain", **options})


def reference_ids(folder: Path, sources: Sequence[Sequence[int]], **options: Any) -> list[list[int]]:
    """The ids that `generate` returns, without the start token and without padding after the end token."""
    model = reference(folder)
    pad, end = model.generation_config.pad_token_id, model.generation_config.eos_token_id
    ids = pad_sequences(sources, pad)
    mask = pad_sequences([[1] * len(source) for source in sources], 0)
    with torch.no_grad():
        rows: list[list[int]] = model.generate(ids, attention_mask=mask, **options)[:, 1:].tolist()
    return [row[: row.index(end) + 1] if end in row else row for row in rows]


def reference_outputs(folder: Path, source: list[int], target: list[int]) -> dict[str, Tensor]:
    """Logits and all attention, `[layer, head, query, key]`, for a source and decoder inputs."""
    with torch.no_grad():
        outputs = reference(folder)(
            torch.tensor([source]), decoder_input_ids=torch.tensor([target]), output_attentions=True
        )
    maps = {
        "encoder": outputs.encoder_attentions,
        "decoder": outputs.decoder_attentions,
        "cross": outputs.cross_attentions,
    }
    return {"logits": outputs.logits[0]} | {name: torch.stack(layers)[:, 0] for name, layers in maps.items()}


SENTENCES = tuple(line for line in LINES if len(line) < 66)


def token_ids(translations: Sequence[Translation], side: str = "target") -> list[list[int]]:
    """The token ids of each translation."""
    return [[token.id for token in getattr(result, f"{side}_tokens")] for result in translations]


def copy_folder(folder: Path, to: Path) -> Path:
    """Copy a folder, so that a test can change it."""
    return Path(shutil.copytree(folder, to))
