"""Base of the families: validation of `config.json`, mapping of tensor names, vocabularies, generation defaults."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor, nn

from headlight.model.checkpoints.pickle_store import PICKLED, PICKLED_INDEX, PickledStore
from headlight.model.checkpoints.reader import CONFIG, FolderReader
from headlight.model.checkpoints.storage import (
    INDEX,
    WEIGHTS,
    MissingTensorError,
    TensorStore,
    Weights,
    is_file_name,
    read_json,
)
from headlight.model.checkpoints.unsupported_formats import ADVICE_BY_FORMAT, unsupported_format
from headlight.model.core.classifier_config import EncoderClassifierConfig
from headlight.model.core.config import TransformerConfig
from headlight.model.core.transformer import Transformer
from headlight.model.decoding.generation_defaults import GenerationDefaults
from headlight.model.errors import CheckpointError, ConfigError, RequestError, TokenizerError
from headlight.model.text.languages import Languages
from headlight.model.text.piece_tokenizer import Entry
from headlight.model.text.sentencepiece import Piece, PieceKind, SentencePieceModel
from headlight.model.text.vocabulary import Vocabulary

ADVICE = "Download it again."
GENERATION_FILE = "generation_config.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
MAX_LENGTH_LIMIT = 4096  # tokens; upper limit of the default length
MAX_SHOWN_CHARACTERS = 40  # of the value of an unsupported option
MAX_LAYERS, MAX_POSITIONS = 200, 100_000  # upper limits for third-party configurations

ACTIVATIONS = {
    "relu": "relu", "gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh",
    "silu": "silu", "swish": "silu",
}  # fmt: skip

TABLE, TARGET_TABLE, OUTPUT = (
    "encoder.embedding.table.weight", "decoder.embedding.table.weight", "decoder.output.words.weight"
)  # fmt: skip


class ConfigFields:
    """The fields of a folder's JSON, with defaults; a field of the wrong type raises an error that names it."""

    def __init__(self, values: Mapping[str, Any], defaults: Mapping[str, Any], origin: Path) -> None:
        self._values = {**defaults, **values}
        self.origin = origin

    def integer(self, name: str) -> int:
        """Return a whole number."""
        return int(self._read(name, int, "a whole number"))

    def number(self, name: str) -> float:
        """Return a number as a float."""
        return float(self._read(name, (int, float), "a number"))

    def boolean(self, name: str) -> bool:
        """Return true or false."""
        return bool(self._read(name, bool, "true or false"))

    def text(self, name: str) -> str:
        """Return text."""
        return str(self._read(name, str, "text"))

    def has(self, name: str) -> bool:
        """Whether the field exists and is not null."""
        return self._values.get(name) is not None

    def get(self, name: str) -> Any:
        """Return the raw value, or None."""
        return self._values.get(name)

    def token_id(self, name: str) -> int:
        """Return the id of one token; a list with one id is valid, too."""
        value = self._values.get(name)
        if isinstance(value, list) and len(value) == 1:
            self._values[name] = value[0]
        return self.integer(name)

    def token_ids(self, name: str) -> tuple[int, ...]:
        """Return the ids of one or several tokens; the list must not be empty."""
        value = self._values.get(name)
        if not isinstance(value, list):
            return (self.token_id(name),)
        if not value or not all(type(number) is int for number in value):
            self.reject(f"{name} is {value!r}, but must be a token's id, or a list of ids")
        return tuple(value)

    def equal(self, first: str, second: str) -> int:
        """Return the value of two fields that must be equal."""
        if self.integer(first) != self.integer(second):
            self.reject(f"{first} is {self.integer(first)} and {second} {self.integer(second)}: they must be equal")
        return self.integer(first)

    def require_neutral(self, **expected: Any) -> None:
        """Reject fields with other values than these, which our model cannot compute."""
        for name, value in expected.items():
            if self._values.get(name, value) not in (value, None):
                self.reject(f"{name} is {self._values[name]!r}, but only {value!r} is supported")

    def choice(self, name: str, choices: Mapping[str, str]) -> str:
        """Return the value of `choices` for the field's value."""
        value = self._values.get(name)
        if not isinstance(value, str) or value not in choices:
            self.reject(f"{name} is {value!r}, but must be one of: {', '.join(choices)}")
        return choices[str(value)]

    def reject(self, complaint: str) -> None:
        """Raise a ConfigError for this folder."""
        raise ConfigError(f"{self.origin}: {complaint}. Choose another model.")

    def _read(self, name: str, types: Any, description: str) -> Any:
        value = self._values.get(name)
        if not isinstance(value, types) or (isinstance(value, bool) and types is not bool):
            self.reject(f"{name} is {value!r}, but must be {description}")
        return value


class FamilyReader(FolderReader):
    """Base class of the readers of families."""

    embedding_tables: Mapping[str, Sequence[str]]  # TABLE, TARGET_TABLE, OUTPUT → candidate names, most specific first
    optional_tensors: Sequence[str] = ()  # name patterns of tensors that may remain unread
    tokenizer_classes: Sequence[str] = ()  # tokenizer classes of `transformers` that this family supports

    @contextmanager
    def convert_errors(self, folder: Path) -> Iterator[None]:
        try:
            yield
        except TokenizerError as error:
            raise error if str(folder) in str(error) else TokenizerError(f"{folder}: {error}") from error
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError) as error:
            raise CheckpointError(
                f"{folder}: its files do not fit this family ({type(error).__name__}: "
                f"{str(error)[:200]}). Download it again, or choose another model."
            ) from error

    def config(self, folder: Path, values: dict[str, Any]) -> Any:
        try:
            self._reject_other_tokenizers(folder, values)
            result = self.map_config(folder, values)
            stacks = ("encoder_layers", "decoder_layers", "layers")
            for quantity, size, limit in (
                ("layers", max(getattr(result, name, 0) for name in stacks), MAX_LAYERS),
                ("positions", result.max_length, MAX_POSITIONS),
            ):
                if size > limit:
                    raise ConfigError(
                        f"It has {size:,} {quantity}, but at most {limit:,} are supported. Choose another model."
                    )
            return result
        except ConfigError as error:
            raise error if str(folder) in str(error) else ConfigError(f"{folder / CONFIG}: {error}") from error

    def _reject_other_tokenizers(self, folder: Path, values: dict[str, Any]) -> None:
        """Reject a tokenizer class that this family does not support, such as ByT5's."""
        name = tokenizer_class(folder, values)
        if name and name not in (*self.tokenizer_classes, *GENERIC_TOKENIZERS):
            raise ConfigError(
                f"{folder}: its tokenizer, {name}, is not supported. This family supports "
                f"{', '.join(self.tokenizer_classes)}. Choose another model."
            )

    def map_config(self, folder: Path, values: dict[str, Any]) -> TransformerConfig | EncoderClassifierConfig:
        """Map the folder's configuration to ours."""
        raise NotImplementedError

    def store(self, folder: Path) -> Weights:
        if any((folder / name).exists() for name in (WEIGHTS, INDEX)):
            return TensorStore(folder)
        if any((folder / name).exists() for name in (PICKLED, PICKLED_INDEX)):
            return PickledStore(folder)
        if form := unsupported_format(folder):
            raise CheckpointError(f"{folder}: {form} {ADVICE_BY_FORMAT}")
        return TensorStore(folder)  # raises the error for missing weights

    def build(self, config: Any) -> nn.Module:
        return Transformer(config)

    def tensor_names(self, name: str) -> Sequence[str]:
        """Return the candidate names, in the folder's files, of a tensor of our model, the likeliest first."""
        raise NotImplementedError

    def load_weight(self, store: Weights, name: str) -> Tensor:
        names = self.embedding_tables.get(name) or self.tensor_names(name)
        return store.read(next((candidate for candidate in names if candidate in store), names[0]))

    def is_optional(self, name: str) -> bool:
        tied = {name for names in self.embedding_tables.values() for name in names}
        return name in tied or any(re.fullmatch(pattern, name) for pattern in self.optional_tensors)

    def complete_config(self, config: TransformerConfig, store: Weights) -> TransformerConfig:
        """Tie the embeddings if the folder has a single table or equal tables, regardless of its configuration."""
        stored_names = {
            slot: next((name for name in names if name in store), None) for slot, names in self.embedding_tables.items()
        }
        if stored_names[TABLE] is None:
            raise MissingTensorError(
                f"{store.folder}: the weights lack {self.embedding_tables[TABLE][0]}. Download them again."
            )

        # Shapes are checked before tensors are allocated, because a third-party configuration may state any size.
        for table, rows in ((TABLE, config.source_vocabulary), (TARGET_TABLE, config.target_vocabulary)):
            name = stored_names[table] or ""
            if name and store.shape(name) != (rows, config.d_model):
                raise CheckpointError(
                    f"{store.folder}: {name} has shape {list(store.shape(name))}, but {CONFIG} requires "
                    f"{[rows, config.d_model]}. Config and weights belong to different models: download both again."
                )

        def is_shared(*tables: str) -> bool:
            names = sorted({stored_names[table] or "" for table in tables})
            return len(names) == 1 or ("" not in names and store.are_equal(names))

        share = config.source_vocabulary == config.target_vocabulary and is_shared(TABLE, TARGET_TABLE)
        return replace(config, share_embeddings=share, tie_output=config.tie_output and is_shared(TARGET_TABLE, OUTPUT))

    def tokenizers(self, folder: Path, config: TransformerConfig) -> tuple[Vocabulary, Vocabulary]:
        raise NotImplementedError

    def generation_defaults(self, folder: Path, config: TransformerConfig, languages: Languages) -> GenerationDefaults:
        return read_generation_defaults(folder, config, languages)


# ---------------------------------------------------------------- vocabularies

# Generic classes, which do not identify a family.
GENERIC_TOKENIZERS = ("PreTrainedTokenizer", "TokenizersBackend", "SentencePieceBackend")


def tokenizer_class(folder: Path, values: Mapping[str, Any] | None = None) -> str:
    """Return the tokenizer class of `transformers` for this folder, without "Fast"; empty if no file names it."""
    for settings in (
        read_optional_json(folder, TOKENIZER_CONFIG),
        values if values is not None else read_optional_json(folder, CONFIG),
    ):
        class_name = settings.get("tokenizer_class")
        if isinstance(class_name, str) and class_name:
            return class_name.removesuffix("Fast")
    return ""


class AddedToken(NamedTuple):
    """A token that was added to a vocabulary."""

    token_id: int
    special: bool  # False: plain text that is never split
    normalised: bool = False  # matched after case and accents are normalised
    strips: bool = False  # matched with adjacent spaces, or only as a separate word


def added_tokens(folder: Path) -> dict[str, AddedToken]:
    """Return the added tokens of the folder by text. If files differ, `tokenizer.json` has precedence."""
    tokens: dict[str, AddedToken] = {}
    for text, token_id in read_optional_json(folder, "added_tokens.json").items():
        tokens[text] = AddedToken(token_id, special=True)
    decoder = read_optional_json(folder, TOKENIZER_CONFIG).get("added_tokens_decoder")
    for number, entry in decoder.items() if isinstance(decoder, dict) else ():
        tokens[entry["content"]] = _parse_added_token(int(number), entry)
    added_tokens = read_optional_json(folder, "tokenizer.json").get("added_tokens")
    for entry in added_tokens if isinstance(added_tokens, list) else ():
        tokens[entry["content"]] = _parse_added_token(entry["id"], entry)
    for text, token in tokens.items():
        if type(token.token_id) is not int or token.token_id < 0:
            raise TokenizerError(
                f"{folder}: the added token {text!r} does not have a whole number as its id. Download it again."
            )
    return tokens


def _parse_added_token(token_id: int, entry: Mapping[str, Any]) -> AddedToken:
    strips = any(entry.get(name) is True for name in ("single_word", "lstrip", "rstrip"))
    return AddedToken(token_id, entry.get("special", True) is True, entry.get("normalized") is True, strips)


def special_token_name(folder: Path, name: str, default: str) -> str:
    """Return the text of a special token such as "cls_token", from the first file that has it."""
    for file in (TOKENIZER_CONFIG, "special_tokens_map.json"):
        value = read_optional_json(folder, file).get(name)
        text = value.get("content") if isinstance(value, dict) else value
        if isinstance(text, str) and text:
            return text
    return default


def with_added_tokens(
    folder: Path,
    model: SentencePieceModel,
    texts: Sequence[str],
    last: Sequence[str],
    added: Mapping[str, AddedToken],
    special: set[str],
    size: int,
) -> list[Entry]:
    """Return the vocabulary entries in id order.

    Args:
        folder: The model folder, for error messages.
        model: The SentencePiece model, for the kinds of pieces.
        texts: Texts of the first entries.
        last: Texts that get the lowest free ids, unless they are in `added`.
        added: Added tokens, at their stored ids.
        special: Texts of special tokens.
        size: Number of rows of the model.
    """
    table = dict(enumerate(texts))
    for text, (token_id, *_) in added.items():
        if token_id >= size:
            raise ConfigError(f"{folder}: {text} has the id {token_id:,}, but {CONFIG} says {size:,} entries. {ADVICE}")
        if table.get(token_id, text) != text:
            raise TokenizerError(f"{folder}: {text} and {table[token_id]} both have the id {token_id}. {ADVICE}")
        table[token_id] = text
    free_ids = (index for index in count(len(texts)) if index not in table)
    table |= {next(free_ids): text for text in last if text not in added}
    ordered_texts = [table.get(index, f"⟨unused {index}⟩") for index in range(max(table, default=-1) + 1)]
    gaps = {text for index, text in enumerate(ordered_texts) if index not in table}
    return vocabulary_entries(
        model, ordered_texts, special | gaps | {text for text, token in added.items() if token.special}
    )


def with_added_texts(model: SentencePieceModel, added: Mapping[str, AddedToken]) -> SentencePieceModel:
    """Add the added tokens that are not special to the model, as pieces that are never split."""
    piece_texts = {piece.text for piece in model.pieces}
    added_texts = [text for text, token in added.items() if not token.special and text not in piece_texts]
    return replace(model, pieces=(*model.pieces, *(Piece(text, 0.0, PieceKind.USER_DEFINED) for text in added_texts)))


def read_optional_json(folder: Path, name: str) -> dict[str, Any]:
    """Read a JSON object of the folder; empty if the file is missing."""
    return read_json(folder / name) if is_file_name(name) and (folder / name).exists() else {}


def read_numbered_pieces(folder: Path, name: str) -> list[str]:
    """Read a JSON file of pieces and ids, and return the pieces in id order. Ids must have no gaps."""
    values = read_json(folder / name)
    texts = sorted(values, key=lambda text: values[text] if isinstance(values[text], int) else -1)
    if [values[text] for text in texts] != list(range(len(texts))):
        raise TokenizerError(f"{folder}: {name} does not number its pieces from 0 without gaps. Download it again.")
    return texts


def vocabulary_entries(model: SentencePieceModel, texts: Sequence[str], special: set[str]) -> list[Entry]:
    """Return the vocabulary entries in id order. An entry is special, or has the kind of its piece in the model."""
    kinds = {piece.text: piece.kind for piece in model.pieces}
    entry_kinds = {PieceKind.CONTROL: "silent", PieceKind.BYTE: "byte"}
    return [Entry(text, "special" if text in special else entry_kinds.get(kinds.get(text), "text")) for text in texts]  # type: ignore[arg-type]


def pad_entries(entries: list[Entry], size: int, origin: str) -> list[Entry]:
    """Pad the entries with unused special ones up to the number of rows of the model."""
    if len(entries) > size:
        raise ConfigError(
            f"{origin}: the vocabulary has {len(entries):,} entries, but {CONFIG} says {size:,}. "
            "They belong to different models: download both again."
        )
    return [*entries, *(Entry(f"⟨unused {index}⟩", "special") for index in range(len(entries), size))]


# ---------------------------------------------------------------- defaults

# Generation options that Headlight does not support → values that disable them. Other values are ignored and reported.
NEUTRAL_VALUES: dict[str, tuple[Any, ...]] = {
    "do_sample": (False,), "repetition_penalty": (1.0,), "encoder_repetition_penalty": (1.0,),
    "encoder_no_repeat_ngram_size": (0,), "min_new_tokens": (0,), "num_beam_groups": (1,), "diversity_penalty": (0.0,),
    "begin_suppress_tokens": ([],), "exponential_decay_length_penalty": (),
    "penalty_alpha": (), "sequence_bias": (), "constraints": (), "force_words_ids": (), "guidance_scale": (1.0,),
    "remove_invalid_values": (False,),
}  # fmt: skip


def read_generation_defaults(
    folder: Path, config: TransformerConfig, languages: Languages, task: Mapping[str, Any] | None = None
) -> GenerationDefaults:
    """Read the generation defaults of `generation_config.json`, else of `config.json`. `task` has default values."""
    name = GENERATION_FILE if (folder / GENERATION_FILE).exists() else CONFIG
    values = {key: value for key, value in read_json(folder / name).items() if value is not None}
    fields = ConfigFields(values, task or {}, folder / name)
    unsupported = [
        key
        for key, neutral_values in NEUTRAL_VALUES.items()
        if fields.has(key) and fields.get(key) not in neutral_values
    ]
    penalty = fields.number("length_penalty") if fields.has("length_penalty") else 1.0
    if penalty < 0:  # it would favour the shortest translation
        unsupported, penalty = [*unsupported, "length_penalty"], 1.0
    patience = {False: "bound", True: "none", "never": "longest", None: "bound"}.get(fields.get("early_stopping"))
    if patience is None:
        fields.reject(f"early_stopping is {fields.get('early_stopping')!r}, but must be true, false or 'never'")
    # Lengths in `transformers` include the decoder start token.
    limit = fields.integer("max_length") - 1 if fields.has("max_length") else None
    limit = fields.integer("max_new_tokens") if fields.has("max_new_tokens") else limit
    forced_start = fields.token_id("forced_bos_token_id") if fields.has("forced_bos_token_id") else None
    is_language = any(language.first == (forced_start,) for language in languages.targets)
    ends = fields.token_ids("eos_token_id") if fields.has("eos_token_id") else (config.end_id,)
    never = [tuple(run) for run in fields.get("bad_words_ids") or ()]
    suppressed = fields.get("suppress_tokens") or ()
    if set(suppressed) & set(ends):  # the end token would never be generated
        unsupported, suppressed = [*unsupported, "suppress_tokens"], ()
    never += [(token,) for token in suppressed]
    token_ids = [*ends, *(token_id for run in never for token_id in run)]
    token_ids += [fields.token_id(key) for key in ("forced_bos_token_id", "forced_eos_token_id") if fields.has(key)]
    if not all(type(token_id) is int and 0 <= token_id < config.target_vocabulary for token_id in token_ids):
        fields.reject("it contains token ids that the vocabulary does not have")
    defaults = GenerationDefaults(
        beam_size=fields.integer("num_beams") if fields.has("num_beams") else 1,
        length_penalty=penalty,
        max_length=limit if limit is None else max(1, min(limit, MAX_LENGTH_LIMIT)),
        no_repeat=fields.integer("no_repeat_ngram_size") if fields.has("no_repeat_ngram_size") else 0,
        never=tuple(run for run in never if run and not (len(run) == 1 and run[0] in ends)),
        least_length=max(0, fields.integer("min_length") - 1) if fields.has("min_length") else 0,
        first=() if forced_start is None or is_language else (forced_start,),
        forced_end=fields.token_id("forced_eos_token_id") if fields.has("forced_eos_token_id") else None,
        patience=patience,  # type: ignore[arg-type]
        ended_first=False,
        counted="renormalised" if fields.get("renormalize_logits") is True else "after",
        ends=() if ends == (config.end_id,) else ends,
        left_out=tuple(
            f"{key} = {json.dumps(fields.get(key), ensure_ascii=False)[:MAX_SHOWN_CHARACTERS]}" for key in unsupported
        ),
    )
    try:
        defaults.options({})
    except RequestError as error:
        fields.reject(str(error).rstrip("."))
    return defaults
