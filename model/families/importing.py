"""Conversion of a third-party model folder to the format of Headlight."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from torch import nn

from headlight.model.checkpoints.checkpoint import save_checkpoint
from headlight.model.checkpoints.checksums import CARD_FILE
from headlight.model.checkpoints.reader import CONFIG
from headlight.model.checkpoints.storage import Storage, read_json
from headlight.model.core.transformer import Transformer
from headlight.model.decoding import generation_defaults
from headlight.model.errors import CheckpointError
from headlight.model.families import CLASSIFIERS, model_type
from headlight.model.families.loading import read_checkpoint
from headlight.model.text import languages
from headlight.model.text.languages import languages_from_name

FRONT_MATTER = re.compile(r"\A---\s*\n(.*?)\n---\s*\n", re.DOTALL)


def import_folder(source: Path, folder: Path, *, origin: str, revision: str = "", storage: Storage = "float16") -> None:
    """Convert the third-party folder `source` to `folder`. The model card names `origin` and `revision`."""
    if read_json(source / CONFIG).get("format") == "headlight":
        raise CheckpointError(f"{source} is already a Headlight folder. Copy it.")
    loaded = read_checkpoint(source, nn.Module)
    generates = isinstance(loaded.model, Transformer)
    other_files = {generation_defaults.DEFAULTS_FILE: loaded.generation_defaults.to_json()} if generates else {}
    if loaded.languages != languages.Languages():
        other_files[languages.LANGUAGES_FILE] = loaded.languages.to_json()
    save_checkpoint(
        folder,
        loaded.model,
        loaded.source_tokenizer,
        loaded.target_tokenizer,
        storage=storage,
        card=render_card(source, folder.resolve().name, origin, revision, storage, loaded.generation_defaults.left_out),
        extra_files=other_files,
    )


def render_card(source: Path, name: str, origin: str, revision: str, storage: str, left_out: Sequence[str] = ()) -> str:
    """Return the model card: description, origin and licence."""
    values = read_json(source / CONFIG)
    language_pair = languages_from_name(origin) or languages_from_name(source.name) or languages_from_name(name)
    revision_text = f", revision {revision}" if revision else ""
    source_card = source / CARD_FILE
    licence = front_matter_licence(
        source_card.read_text(encoding="utf-8", errors="replace") if source_card.exists() else ""
    )
    terms = (
        f"Its authors state the licence: {licence}." if licence else "Its folder states no licence: ask its authors."
    )
    rules = (
        f"\nGeneration rules that Headlight does not support and omits: {'; '.join(left_out)}.\n" if left_out else ""
    )
    extras = "" if model_type(values) in CLASSIFIERS else " and generation defaults"
    front_matter = [f"language: [{', '.join(language_pair)}]"] if language_pair else []
    front_matter += [f"license: {licence}"] if licence else []
    header = "\n".join(["---", *front_matter, "---", "", ""]) if front_matter else ""
    return f"""{header}# {name}

Imported from {origin}{revision_text}: a model of the family "{model_type(values)}", with its own vocabulary{extras}.
The weights are those of its source, stored as {storage}. The source describes its training data, quality and limits.

- Source: {origin}{revision_text}
- Licence: {licence or "not stated"}

{terms}
{rules}"""


def front_matter_licence(text: str) -> str:
    """Return the licence in the front matter of a card, or an empty string."""
    matter = FRONT_MATTER.match(text)
    match = re.search(r"^licen[sc]e:[ \t]*['\"]?([\w .+-]+?)['\"]?[ \t]*$", matter[1], re.MULTILINE) if matter else None
    return match[1] if match else ""
