"""What the families share: fields read with care, weights by other names, and how a folder wants to write."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from model.config import TransformerConfig
from model.errors import CheckpointError, ConfigError, RequestError, TokenizerError
from model.habits import Habits
from model.languages import Languages
from model.pickled import PICKLED, PickledStore
from model.pieces import Entry
from model.reader import CONFIG, FolderReader
from model.sentencepiece import PieceKind, SentencePieceModel
from model.storage import INDEX, WEIGHTS, MissingTensorError, TensorStore, Weights, is_plain_name, read_json
from model.transformer import Transformer
from model.vocabulary import Vocabulary

GENERATION = "generation_config.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
LARGEST_LIMIT = 4096  # tokens; what a request may ask for
MOST_LAYERS, MOST_POSITIONS = 200, 100_000  # of any model that is worth its name

ACTIVATIONS = {
    "relu": "relu", "gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh",
    "silu": "silu", "swish": "silu",
}  # fmt: skip

TABLE, TARGET_TABLE, OUTPUT = (
    "encoder.embedding.table.weight", "decoder.embedding.table.weight", "decoder.output.words.weight"
)  # fmt: skip


class Fields:
    """The fields of a folder's JSON, with defaults; a field of the wrong kind is an error that names it."""

    def __init__(self, values: Mapping[str, Any], defaults: Mapping[str, Any], origin: Path) -> None:
        self._values = {**defaults, **values}
        self.origin = origin

    def whole(self, name: str) -> int:
        """A whole number."""
        return int(self._of(name, int, "a whole number"))

    def number(self, name: str) -> float:
        """Any number."""
        return float(self._of(name, (int, float), "a number"))

    def switch(self, name: str) -> bool:
        """True or false."""
        return bool(self._of(name, bool, "true or false"))

    def text(self, name: str) -> str:
        """Text."""
        return str(self._of(name, str, "text"))

    def has(self, name: str) -> bool:
        """Whether the field is there and says something."""
        return self._values.get(name) is not None

    def get(self, name: str) -> Any:
        """The field as it is; None where it is not."""
        return self._values.get(name)

    def token(self, name: str) -> int:
        """The id of one token; a list of one means the same."""
        value = self._values.get(name)
        if isinstance(value, list) and len(value) == 1:
            self._values[name] = value[0]
        return self.whole(name)

    def equal(self, first: str, second: str) -> int:
        """A number that both sides of the model share."""
        if self.whole(first) != self.whole(second):
            self.refuse(f"{first} is {self.whole(first)} and {second} {self.whole(second)}: they must be equal")
        return self.whole(first)

    def neutral(self, **expected: Any) -> None:
        """Refuse every field that asks for something else than what the model does anyway."""
        for name, value in expected.items():
            if self._values.get(name, value) not in (value, None):
                self.refuse(f"{name} is {self._values[name]!r}, but only {value!r} is known")

    def choice(self, name: str, choices: Mapping[str, str]) -> str:
        """One of several words, in our own."""
        value = self._values.get(name)
        if not isinstance(value, str) or value not in choices:
            self.refuse(f"{name} is {value!r}, but known are: {', '.join(choices)}")
        return choices[str(value)]

    def refuse(self, complaint: str) -> None:
        """This folder cannot be read."""
        raise ConfigError(f"{self.origin}: {complaint}. Choose another model.")

    def _of(self, name: str, kinds: Any, words: str) -> Any:
        value = self._values.get(name)
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            self.refuse(f"{name} is {value!r}, but must be {words}")
        return value


def of_bart(fields: Fields) -> dict[str, Any]:
    """What Marian and M2M100 say in the same words, having it from BART: sizes, sinusoids in halves, special ids."""
    return {
        "d_model": fields.whole("d_model"),
        "heads": fields.equal("encoder_attention_heads", "decoder_attention_heads"),
        "d_ff": fields.equal("encoder_ffn_dim", "decoder_ffn_dim"),
        "encoder_layers": fields.whole("encoder_layers"),
        "decoder_layers": fields.whole("decoder_layers"),
        "positions": "sinusoidal_halves",
        "max_length": fields.whole("max_position_embeddings"),
        "activation": fields.choice("activation_function", ACTIVATIONS),
        "scale_embedding": fields.switch("scale_embedding"),
        "tie_output": fields.switch("tie_word_embeddings"),
        "dropout": 0.0,
        "pad_id": fields.token("pad_token_id"),
        "start_id": fields.token("decoder_start_token_id"),
        "end_id": fields.token("eos_token_id"),
    }


class ForeignReader(FolderReader):
    """A family: its `renamed` gives, for each tensor of ours, its names there, the likeliest first."""

    tables: Mapping[str, Sequence[str]]  # TABLE, TARGET_TABLE, OUTPUT → names, each table's own first
    spares: Sequence[str] = ()  # patterns of derived tensors that need not be read

    @contextmanager
    def complaints(self, folder: Path) -> Iterator[None]:
        try:
            yield
        except TokenizerError as error:
            raise error if str(folder) in str(error) else TokenizerError(f"{folder}: {error}") from error
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError) as error:
            raise CheckpointError(
                f"{folder}: its files are not what a folder of this family holds ({type(error).__name__}: "
                f"{str(error)[:200]}). Download it again, or choose another model."
            ) from error

    def config(self, folder: Path, values: dict[str, Any]) -> TransformerConfig:
        try:
            found = self.mapped(folder, values)
            for what, number, most in (
                ("layers", max(found.encoder_layers, found.decoder_layers), MOST_LAYERS),
                ("positions", found.max_length, MOST_POSITIONS),
            ):
                if number > most:
                    raise ConfigError(f"It asks for {number:,} {what}: {most:,} are the most. Choose another model.")
            return found
        except ConfigError as error:
            raise error if str(folder) in str(error) else ConfigError(f"{folder / CONFIG}: {error}") from error

    def mapped(self, folder: Path, values: dict[str, Any]) -> TransformerConfig:
        """Our configuration, from theirs."""
        raise NotImplementedError

    def store(self, folder: Path) -> Weights:
        if (folder / PICKLED).exists() and not any((folder / name).exists() for name in (WEIGHTS, INDEX)):
            return PickledStore(folder)
        return TensorStore(folder)

    def build(self, config: Any) -> nn.Module:
        return Transformer(config)

    def renamed(self, name: str) -> Sequence[str]:
        """What a tensor of ours is called there."""
        raise NotImplementedError

    def weight(self, store: Weights, name: str) -> Tensor:
        names = self.tables.get(name) or self.renamed(name)
        return store.read(next((their for their in names if their in store), names[0]))

    def spare(self, name: str) -> bool:
        tied = {name for names in self.tables.values() for name in names}
        return name in tied or any(re.fullmatch(pattern, name) for pattern in self.spares)

    def settled(self, config: TransformerConfig, store: Weights) -> TransformerConfig:
        """Tables are one where the folder holds one, or equal ones, whatever it says of them."""
        used = {ours: next((name for name in names if name in store), None) for ours, names in self.tables.items()}
        if used[TABLE] is None:
            raise MissingTensorError(f"{store.folder}: the weights lack {self.tables[TABLE][0]}. Download them again.")

        # Before anything is made that is as large as the configuration says: it may say what it likes.
        for table, rows in ((TABLE, config.source_vocabulary), (TARGET_TABLE, config.target_vocabulary)):
            name = used[table] or ""
            if name and store.shape(name) != (rows, config.d_model):
                raise CheckpointError(
                    f"{store.folder}: {name} has shape {list(store.shape(name))}, but {CONFIG} leads to "
                    f"{[rows, config.d_model]}. Config and weights are not of one model: download both again."
                )

        def one(*tables: str) -> bool:
            names = sorted({used[table] or "" for table in tables})
            return len(names) == 1 or ("" not in names and store.same(names))

        share = config.source_vocabulary == config.target_vocabulary and one(TABLE, TARGET_TABLE)
        return replace(config, share_embeddings=share, tie_output=config.tie_output and one(TARGET_TABLE, OUTPUT))

    def tokenizers(self, folder: Path, config: TransformerConfig) -> tuple[Vocabulary, Vocabulary]:
        raise NotImplementedError

    def habits(self, folder: Path, config: TransformerConfig, languages: Languages) -> Habits:
        return read_habits(folder, config, languages)


# ---------------------------------------------------------------- vocabularies


def safe_json(folder: Path, name: str) -> dict[str, Any]:
    """A JSON object of the folder; an empty one where the file is not there."""
    return read_json(folder / name) if is_plain_name(name) and (folder / name).exists() else {}


def numbered(folder: Path, name: str) -> list[str]:
    """The pieces of a file "piece → id", in the order of their ids, which must have no gaps."""
    values = read_json(folder / name)
    texts = sorted(values, key=lambda text: values[text] if isinstance(values[text], int) else -1)
    if [values[text] for text in texts] != list(range(len(texts))):
        raise TokenizerError(f"{folder}: {name} does not number its pieces from 0 without gaps. Download it again.")
    return texts


def entries_of(model: SentencePieceModel, texts: Sequence[str], special: set[str]) -> list[Entry]:
    """What each id writes: nothing if special, else as the vocabulary's own pieces do."""
    kinds = {piece.text: piece.kind for piece in model.pieces}
    silent = {PieceKind.CONTROL: "silent", PieceKind.BYTE: "byte"}
    return [Entry(text, "special" if text in special else silent.get(kinds.get(text), "text")) for text in texts]  # type: ignore[arg-type]


def filled_up(entries: list[Entry], size: int, origin: str) -> list[Entry]:
    """As many entries as the model has rows: what is left over stands for nothing."""
    if len(entries) > size:
        raise ConfigError(
            f"{origin}: the vocabulary has {len(entries):,} entries, but {CONFIG} says {size:,}. "
            "They are not of one model: download both again."
        )
    return [*entries, *(Entry(f"⟨unused {place}⟩", "special") for place in range(len(entries), size))]


# ---------------------------------------------------------------- habits

# What would change the answer and is not known here, with the values that change nothing.
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "do_sample": (False,), "repetition_penalty": (1.0,), "encoder_repetition_penalty": (1.0,),
    "encoder_no_repeat_ngram_size": (0,), "min_new_tokens": (0,), "num_beam_groups": (1,), "diversity_penalty": (0.0,),
    "suppress_tokens": ([],), "begin_suppress_tokens": ([],), "exponential_decay_length_penalty": (),
    "penalty_alpha": (), "sequence_bias": (), "constraints": (), "force_words_ids": (), "guidance_scale": (1.0,),
    "remove_invalid_values": (False,),
}  # fmt: skip


def read_habits(
    folder: Path, config: TransformerConfig, languages: Languages, task: Mapping[str, Any] | None = None
) -> Habits:
    """How a folder wants to write: `generation_config.json`, else `config.json`, with a task's own wishes below it."""
    name = GENERATION if (folder / GENERATION).exists() else CONFIG
    values = {key: value for key, value in read_json(folder / name).items() if value is not None}
    fields = Fields(values, task or {}, folder / name)
    for key, harmless in NEUTRAL.items():
        if fields.has(key) and fields.get(key) not in harmless:
            fields.refuse(f"{key} is {fields.get(key)!r}, which is not known here")
    patience = {False: "bound", True: "none", "never": "longest", None: "bound"}.get(fields.get("early_stopping"))
    if patience is None:
        fields.refuse(f"early_stopping is {fields.get('early_stopping')!r}, but must be true, false or 'never'")
    # Their lengths count the token that the decoder begins with.
    limit = fields.whole("max_length") - 1 if fields.has("max_length") else None
    limit = fields.whole("max_new_tokens") if fields.has("max_new_tokens") else limit
    forced = fields.token("forced_bos_token_id") if fields.has("forced_bos_token_id") else None
    is_language = any(language.first == (forced,) for language in languages.targets)
    never = [tuple(run) for run in fields.get("bad_words_ids") or ()]
    numbers = [number for run in never for number in run]
    numbers += [fields.token(key) for key in ("forced_bos_token_id", "forced_eos_token_id") if fields.has(key)]
    if not all(type(number) is int and 0 <= number < config.target_vocabulary for number in numbers):
        fields.refuse("it names tokens that the vocabulary does not have")
    habits = Habits(
        beam_size=fields.whole("num_beams") if fields.has("num_beams") else 1,
        length_penalty=fields.number("length_penalty") if fields.has("length_penalty") else 1.0,
        max_length=limit if limit is None else max(1, min(limit, LARGEST_LIMIT)),
        no_repeat=fields.whole("no_repeat_ngram_size") if fields.has("no_repeat_ngram_size") else 0,
        never=tuple(run for run in never if run and run != (config.end_id,)),
        least_length=max(0, fields.whole("min_length") - 1) if fields.has("min_length") else 0,
        first=() if forced is None or is_language else (forced,),
        forced_end=fields.token("forced_eos_token_id") if fields.has("forced_eos_token_id") else None,
        patience=patience,  # type: ignore[arg-type]
        ended_first=False,
        counted="renormalised" if fields.get("renormalize_logits") is True else "after",
    )
    try:
        habits.options({})
    except RequestError as error:
        fields.refuse(str(error).rstrip("."))
    return habits
