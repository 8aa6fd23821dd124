"""Text ↔ ids by byte-level byte-pair encoding (https://arxiv.org/abs/1508.07909), without loss.

1. The text is split into words, numbers, signs and runs of one script; a space belongs to the next word.
2. Each part is encoded as UTF-8, and the learned merges join bytes to characters and characters to sub-words.

All 256 bytes are in every vocabulary, so no text is unknown: a rare character becomes two to four byte tokens.
One `tokenizer.json` contains all rules of encoding and decoding; the plain `tokenizers` library can load it, too.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers

from headlight.model.errors import TokenizerError
from headlight.model.records import Token
from headlight.model.text.base_vocabulary import TokenizersVocabulary, encode_with
from headlight.model.text.byte_tokens import BYTE_BY_CHARACTER, BYTE_CHARACTERS, ByteTokens, byte_characters
from headlight.model.text.segmentation import (
    PIECES,
    UNSPACED_START,
    insert_boundaries,
)
from headlight.model.text.vocabulary import require_valid_unicode

PAD, START, END = "<pad>", "<s>", "</s>"
# Ordinary entries of the vocabulary. Text is never encoded to them, because "<", "pad" and ">" are never one piece.
SPECIAL = (PAD, START, END)

# A loaded tokenizer must encode and decode this text without changes.
ROUND_TRIP_SAMPLE = f"  Don’t  we\n 3个 {PAD}{START}{END} 我用Python編程 ▁Ġ"

MIN_VOCABULARY = len(SPECIAL) + len(BYTE_CHARACTERS)


class Tokenizer(TokenizersVocabulary, ByteTokens):
    """Text ↔ ids, with the position and the word of every token. Safe to share between threads."""

    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        """Wrap a valid `tokenizers.Tokenizer`. Use `train`, `load` or `from_json` to get one."""
        self._tokenizer = backend
        vocabulary = backend.get_vocab()
        self.pad_id, self.start_id, self.end_id = (vocabulary[name] for name in SPECIAL)
        special = {vocabulary[name]: name for name in SPECIAL}
        bytes_by_id = [b""] * len(vocabulary)  # per id; empty for special tokens
        for entry, token_id in vocabulary.items():
            if token_id not in special:
                bytes_by_id[token_id] = bytes(BYTE_BY_CHARACTER[letter] for letter in entry)
        super().__init__(bytes_by_id, special)
        self._backends_by_dropout: dict[float, tokenizers.Tokenizer] = {}
        self._lock = Lock()

    # ------------------------------------------------------------ training and serialisation

    @classmethod
    def train(
        cls,
        lines: Iterable[str],
        vocabulary_size: int,
        *,
        minimum_frequency: int = 2,
        coverage: float = 0.9995,
        show_progress: bool = False,
        segment: Callable[[str], Sequence[str]] | None = None,
    ) -> Tokenizer:
        """Learn a vocabulary from sentences, deterministically. It may be smaller than `vocabulary_size`.

        Frequent characters are added first, until they cover the share `coverage` of the text, then sub-words of them.
        Therefore no token combines part of a character with another character, which plain byte merges allow ("f" +
        half of "ü"). The sentences are kept in memory; a million is enough.

        `segment` splits a sentence into words, for scripts without spaces. Merges are then learned within words, so
        that encoding, which uses no segmenter, gives words and parts of words. The file format does not change.
        """
        if vocabulary_size < MIN_VOCABULARY:
            raise TokenizerError(
                f"The vocabulary size must be at least {MIN_VOCABULARY}, for {len(SPECIAL)} special tokens and 256 "
                f"bytes, not {vocabulary_size}."
            )
        sentences = [
            require_valid_unicode(line if segment is None else insert_boundaries(segment(line))) for line in lines
        ]
        if not any(sentences):
            raise TokenizerError("There is no text to learn a vocabulary from. Give at least one sentence.")
        counts = Counter(character for line in sentences for character in line)
        vocabulary = {name: token_id for token_id, name in enumerate((*SPECIAL, *BYTE_CHARACTERS))}
        merges: list[tuple[str, str]] = []
        character_limit = (vocabulary_size + MIN_VOCABULARY) // 2  # characters take at most half of the free entries
        rare = _add_characters(counts, minimum_frequency, coverage, character_limit, vocabulary, merges)

        # Replace rare characters by line breaks, which end words, so that no sub-word contains bytes of them.
        line_breaks = dict.fromkeys(map(ord, rare), "\n")
        learner = _build_tokenizer(models.BPE(), split_only=True)
        learner.train_from_iterator(
            (line.translate(line_breaks) for line in sentences),
            trainers.BpeTrainer(
                vocab_size=len(counts) + 2 + vocabulary_size - len(vocabulary),  # 2: line break, inserted space
                min_frequency=minimum_frequency,
                show_progress=show_progress,
            ),
            length=len(sentences),
        )
        for left, right in json.loads(learner.to_str())["model"]["merges"]:
            if len(vocabulary) == vocabulary_size:
                break
            _add_merge(byte_characters(left), byte_characters(right), vocabulary, merges)
        return cls(_build_tokenizer(models.BPE(vocabulary, merges)))

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        """Load a file that `save` wrote."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise TokenizerError(
                f"{path}: there is no such file. A model folder needs its tokenizer.json: train one, or copy it here."
            ) from error
        except OSError as error:
            raise TokenizerError(f"{path}: cannot be read ({error.strerror}). Check the path.") from error
        except UnicodeDecodeError as error:
            raise TokenizerError(f"{path}: is not a tokenizer (not UTF-8 text). Save or download it again.") from error
        return cls.from_json(text, name=str(path))

    def to_json(self) -> str:
        """Return the vocabulary as JSON, which `save` writes. Indentation would double its length."""
        text: str = self._tokenizer.to_str(pretty=False)
        return text

    @classmethod
    def from_json(cls, text: str, *, name: str = "tokenizer.json") -> Tokenizer:
        """Parse the output of `to_json`. `name` is the name of the file in error messages."""
        try:
            problem = _find_problem(json.loads(require_valid_unicode(text)))
            backend = None if problem else tokenizers.Tokenizer.from_str(text)
        except KeyError as error:
            problem, backend = f"is not a tokenizer (lacks {error})", None
        except Exception as error:  # the library raises no more specific class
            problem, backend = f"is not a tokenizer ({error})", None
        if backend is not None:
            backend.no_truncation()
            backend.no_padding()
            backend.model.dropout = None
            tokenizer = cls(backend)
            ids = tokenizer.encode(ROUND_TRIP_SAMPLE)
            if (
                not tokenizer._special.keys() & ids
                and tokenizer.decode(ids) == backend.decode(ids) == ROUND_TRIP_SAMPLE
            ):
                return tokenizer
            problem = "does not restore a text exactly, so Headlight did not write it"
        raise TokenizerError(f"{name}: {problem}. Train one with Tokenizer.train, or save or download it again.")

    # ------------------------------------------------------------ text to ids and back

    def encode_with_dropout(self, texts: Sequence[str], dropout: float = 0.1) -> list[list[int]]:
        """Return the ids of a random segmentation of each text (BPE dropout, only for training).

        Each merge is skipped with this probability (https://arxiv.org/abs/1910.13267), so the model sees rare pieces
        and learns their spelling. The library uses its own random generator, which cannot be seeded.
        """
        if not 0.0 <= dropout <= 1.0:
            raise TokenizerError(f"The dropout must be a number from 0 to 1, not {dropout!r}.")
        with self._lock:  # one copy per rate, so that `encode` stays deterministic
            backend = self._backends_by_dropout.get(dropout)
            if backend is None:
                backend = tokenizers.Tokenizer.from_str(self._tokenizer.to_str())
                backend.model.dropout = dropout
                self._backends_by_dropout[dropout] = backend
        return encode_with(backend, texts)

    # ------------------------------------------------------------ tokens for display

    def source_tokens(self, text: str) -> tuple[Token, ...]:
        """Return the tokens of a sentence and the end token, each with its position in the sentence and its word."""
        return self.written_tokens([*self.encode(text), self.end_id])


# ---------------------------------------------------------------- the library


def _build_tokenizer(model: models.BPE, *, split_only: bool = False) -> tokenizers.Tokenizer:
    """Create the library's tokenizer with all rules. `split_only` keeps characters instead of bytes, for training."""
    backend = tokenizers.Tokenizer(model)
    backend.normalizer = normalizers.Sequence(
        [normalizers.Prepend(" "), normalizers.Replace(Regex(UNSPACED_START), "")]
    )
    split = pre_tokenizers.Split(Regex(PIECES), behavior="isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.pre_tokenizer = split if split_only else pre_tokenizers.Sequence([split, to_bytes])
    backend.decoder = decoders.Sequence(
        [
            decoders.Replace(Regex(rf"\A(?:{'|'.join(SPECIAL)})\z"), ""),
            decoders.ByteLevel(),
            decoders.Strip(" ", 1, 0),  # the inserted space
        ]
    )
    return backend


def _find_problem(content: dict[str, Any]) -> str:
    """Describe what is wrong with a tokenizer file; empty if nothing is. A damaged file can crash the library."""
    model = content["model"]
    if model["type"] != "BPE":
        return f"is not a byte-level BPE tokenizer but {model['type']}"
    vocabulary: dict[str, int] = model["vocab"]
    if missing := [name for name in SPECIAL if name not in vocabulary]:
        return f"lacks the special tokens {', '.join(missing)}"
    if added_tokens := [token["content"] for token in content["added_tokens"]]:
        return f"has added tokens ({', '.join(added_tokens[:3])}), which would match the same text in a user's input"
    letters = set(BYTE_CHARACTERS)
    has_all_bytes = letters <= vocabulary.keys() and all(letters.issuperset(entry) for entry in vocabulary)
    if not has_all_bytes or sorted(vocabulary.values()) != list(range(len(vocabulary))):
        return "has a vocabulary that is not byte-level or whose ids have gaps"
    if model["continuing_subword_prefix"] or model["end_of_word_suffix"]:
        return "marks the ends of its pieces, which a byte-level vocabulary does not"
    if not all({left, right, left + right} <= vocabulary.keys() for left, right in model["merges"]):
        return "merges pieces that are not in its vocabulary"
    return ""


# ---------------------------------------------------------------- learned characters


def _add_merge(left: str, right: str, vocabulary: dict[str, int], merges: list[tuple[str, str]]) -> None:
    merges.append((left, right))
    vocabulary.setdefault(left + right, len(vocabulary))


def _add_characters(
    counts: Counter[str],
    min_count: int,
    coverage: float,
    limit: int,
    vocabulary: dict[str, int],
    merges: list[tuple[str, str]],
) -> list[str]:
    """Add merges from bytes to frequent characters beyond ASCII. Return the characters that are not added."""
    candidates = sorted((character for character in counts if not character.isascii()), key=lambda c: (-counts[c], c))
    needed_count = coverage * sum(counts[character] for character in candidates)
    covered_count = 0
    for index, character in enumerate(candidates):
        letters = byte_characters(character)
        new_ends = [end for end in range(2, len(letters) + 1) if letters[:end] not in vocabulary]
        if covered_count >= needed_count or counts[character] < min_count or len(vocabulary) + len(new_ends) > limit:
            return candidates[index:]
        for end in new_ends:
            _add_merge(letters[: end - 1], letters[end - 1], vocabulary, merges)
        covered_count += counts[character]
    return []
