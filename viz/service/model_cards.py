"""Model cards of a folder of models, read without loading weights."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from headlight.model.checkpoints.alignment_heads import cross_heads
from headlight.model.checkpoints.checksums import DESCRIPTIVE_FILES, revision
from headlight.model.families import CLASSIFIERS, FAMILIES, family_name, model_type
from headlight.model.measures.alignment_head import UNMEASURED, CrossHeads
from headlight.model.text.languages import languages_from_name
from headlight.model.translate.reliability import uses_back_translation
from headlight.viz.errors import escape_for_log

CONFIG, CARD, CHECKSUMS = "config.json", "README.md", "SHA256SUMS"
DEFAULTS_FILES = ("habits.json", "languages.json")
OWN_CLASSIFIERS = ("classifier", "encoder_classifier")  # kinds in the configuration of our own format
LANGUAGE = re.compile(r"[a-z]{2,3}")
MAX_CARD_CHARACTERS, MAX_SUMMARY_CHARACTERS = 50_000, 600  # third-party text may be long
MAX_HEADER_BYTES = 100_000_000  # the limit of the safetensors format

LOG = logging.getLogger(__name__)
# Exceptions that reading third-party files can raise.
UNREADABLE_ERRORS = (OSError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError)


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """Properties of a model for menus and lists."""

    name: str  # folder name, or Hub id
    kind: Literal["transformer", "classifier"]
    languages: tuple[str, ...]  # source, then target; empty if unknown
    parameters: int  # 0 if unknown without loading
    bytes: int  # size of all files; an estimate before the download
    summary: str  # first paragraph of the card
    revision: str  # changes with the model's files, but not with its card
    cross_heads: CrossHeads = UNMEASURED
    default: bool = False
    location: Literal["here", "hub"] = "here"  # in the models folder, or on the Hub
    downloaded: bool = True
    has_defaults: bool = False  # whether the folder may have its own default options or languages
    read_back: bool = False  # whether its translations are reranked by default if a reverse model is installed
    is_additive: bool = False  # for classifiers: the log-odds are a sum over tokens


def read_cards(folder: Path) -> tuple[ModelCard, ...]:
    """Read the cards of all models in a folder, sorted by name. Invalid models are logged and skipped."""
    if not folder.is_dir():
        return ()
    cards = []
    for subfolder in sorted(folder.iterdir()):
        if (subfolder / CONFIG).is_file() and not subfolder.name.startswith("."):  # `.name.part` is incomplete
            try:
                cards.append(read_card(subfolder))
            except UNREADABLE_ERRORS as error:
                LOG.warning("The model folder %s is left out: %s", escape_for_log(subfolder), escape_for_log(error))
    return tuple(cards)


def is_readable(folder: Path) -> bool:
    """Whether a folder contains a model in our format or of a supported family."""
    try:
        return _find_unsupported_family(json.loads((folder / CONFIG).read_text(encoding="utf-8"))) is None
    except UNREADABLE_ERRORS:
        return False


def _find_unsupported_family(config: dict[str, Any]) -> object:
    """Return the family of an unsupported model; `None` if the model is supported."""
    family = family_name(config)
    return None if "format" in config or family in FAMILIES else family or "unnamed"


def read_card(folder: Path, name: str = "") -> ModelCard:
    """Read the card of the model in a folder. `name` replaces the folder's name."""
    name = name or folder.name
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    if not isinstance(config, dict):
        raise ValueError(f"{CONFIG} is not a JSON object")
    family = model_type(config)
    if (unsupported := _find_unsupported_family(config)) is not None:
        raise ValueError(f"models of the family {unsupported!r} cannot be read, only {', '.join(FAMILIES)}")
    front_matter, body = _split_front_matter(card_text(folder))
    return ModelCard(
        name=name,
        kind="classifier" if family in CLASSIFIERS or config.get("kind") in OWN_CLASSIFIERS else "transformer",
        languages=languages_from_name(name) or _find_language_pair(front_matter)
        if family
        else _find_languages(folder, front_matter),
        parameters=_count_parameters(folder),
        bytes=sum(path.stat().st_size for path in folder.iterdir() if path.is_file()),
        summary=_find_summary(body),
        revision=_compute_revision(folder),
        cross_heads=cross_heads(folder),
        has_defaults=family is not None or any((folder / name).exists() for name in DEFAULTS_FILES),
        read_back=uses_back_translation(folder),
        is_additive=config.get("kind") == "classifier",
    )


def card_text(folder: Path) -> str:
    """Return the text of a folder's card; empty if the card is missing or links outside the folder."""
    path = folder / CARD
    # Files of a snapshot are links into the cache.
    root = folder.parents[1] if folder.parent.name == "snapshots" else folder
    if not path.is_file() or not path.resolve().is_relative_to(root.resolve()):
        return ""
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(MAX_CARD_CHARACTERS)


def _split_front_matter(text: str) -> tuple[str, str]:
    """Split a card into front matter and body."""
    match = re.match(r"---\r?\n(.*?)\r?\n---\r?\n", text, flags=re.DOTALL)
    return (match[1], text[match.end() :]) if match else ("", text)


def _find_languages(folder: Path, front_matter: str) -> tuple[str, ...]:
    """Return the languages from the card, else from the recipe of the same name, else from a name such as de-en."""
    if languages := _find_front_matter_languages(front_matter):
        return languages
    recipe = folder.parents[1] / "recipes" / f"{folder.name}.json"
    if recipe.is_file():
        values: dict[str, Any] = json.loads(recipe.read_text(encoding="utf-8"))
        pair = (values.get("source_language"), values.get("target_language"))
        return tuple(language for language in pair if isinstance(language, str))
    return languages_from_name(folder.name)


def _find_front_matter_languages(front_matter: str) -> tuple[str, ...]:
    match = re.search(r"^language:(.*(?:\r?\n[ \t]*-.*)*)", front_matter, flags=re.MULTILINE)
    return tuple(LANGUAGE.findall(match[1])) if match else ()


def _find_language_pair(front_matter: str) -> tuple[str, ...]:
    """Return source and target if a third-party card names exactly two languages; the order of more is unknown."""
    languages = _find_front_matter_languages(front_matter)
    return languages if len(languages) == 2 else ()


def _count_parameters(folder: Path) -> int:
    """Count the parameters in the headers of safetensors files, without the scales of int8 and int4."""
    entries: dict[str, Any] = {}
    for path in sorted(folder.glob("*.safetensors")):
        entries |= _read_header(path)
    tensors = {name.partition(".rows.")[0] for name in entries}
    count = 0
    for name, entry in entries.items():
        tensor = name.partition(".rows.")[0]
        if tensor.endswith(".scale") and tensor.removesuffix(".scale") in tensors:
            continue
        # A byte of int4 has two numbers. Bytes without a scale are not int4, but for example a mask of another library.
        is_int4 = entry["dtype"] == "U8" and f"{tensor}.scale" in tensors
        count += math.prod(entry["shape"]) * (2 if is_int4 else 1)
    return count


def _read_header(path: Path) -> dict[str, Any]:
    """Read the entries of tensors in the header of a safetensors file."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > min(MAX_HEADER_BYTES, path.stat().st_size):
            raise ValueError(f"{path.name} is truncated")
        header: dict[str, Any] = json.loads(file.read(length))
    header.pop("__metadata__", None)
    return header


def _find_summary(body: str) -> str:
    """Return the first paragraph that is not a heading, on one line."""
    paragraphs = (paragraph.strip() for paragraph in re.split(r"\n\s*\n", body))
    summary = next((" ".join(text.split()) for text in paragraphs if text and not text.startswith("#")), "")
    return summary if len(summary) <= MAX_SUMMARY_CHARACTERS else f"{summary[:MAX_SUMMARY_CHARACTERS]}…"


def _compute_revision(folder: Path) -> str:
    """Return a digest of the checksum file, else of file sizes and modification times."""
    if (folder / CHECKSUMS).exists():
        return revision(folder)
    files = [(path.name, path.stat()) for path in sorted(folder.iterdir()) if path.name not in DESCRIPTIVE_FILES]
    state = repr([(name, status.st_size, status.st_mtime_ns) for name, status in files])
    return hashlib.sha256(state.encode()).hexdigest()[:16]
