"""Import: a third-party folder → one of ours, with the same model in our own files."""

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
    """Write `folder` from the third-party `source`; the card names `origin` and `revision`."""
    if read_json(source / CONFIG).get("format") == "headlight":
        raise CheckpointError(f"{source}: is a folder of ours already. Copy it.")
    loaded = read_checkpoint(source, nn.Module)
    writes = isinstance(loaded.model, Transformer)
    others = {generation_defaults.DEFAULTS_FILE: loaded.generation_defaults.to_json()} if writes else {}
    if loaded.languages != languages.Languages():
        others[languages.LANGUAGES_FILE] = loaded.languages.to_json()
    save_checkpoint(
        folder,
        loaded.model,
        loaded.source_tokenizer,
        loaded.target_tokenizer,
        storage=storage,
        card=card(source, folder.resolve().name, origin, revision, storage, loaded.generation_defaults.left_out),
        others=others,
    )


def card(source: Path, name: str, origin: str, revision: str, storage: str, left_out: Sequence[str] = ()) -> str:
    """The model card: description, origin and licence."""
    values = read_json(source / CONFIG)
    pair = languages_from_name(origin) or languages_from_name(source.name) or languages_from_name(name)
    at = f", revision {revision}" if revision else ""
    theirs = source / CARD_FILE
    stated = licence_in(theirs.read_text(encoding="utf-8", errors="replace") if theirs.exists() else "")
    terms = f"Its makers state the licence: {stated}." if stated else "Its folder states no licence: ask its makers."
    text = (
        f"\nRules of its makers that are not known here and are left out: {'; '.join(left_out)}.\n" if left_out else ""
    )
    brought = "" if model_type(values) in CLASSIFIERS else " and generation defaults"
    matter = [f"language: [{', '.join(pair)}]"] if pair else []
    matter += [f"license: {stated}"] if stated else []
    head = "\n".join(["---", *matter, "---", "", ""]) if matter else ""
    return f"""{head}# {name}

Imported from {origin}{at}: a model of the family "{model_type(values)}", with its own vocabulary{brought}.
The numbers are the same, stored in {storage}. What it was trained on, how good it is and where it fails is told at its
source.

- Source: {origin}{at}
- Licence: {stated or "not stated"}

{terms}
{text}"""


def licence_in(text: str) -> str:
    """The licence in the front matter of a card, or an empty string."""
    matter = FRONT_MATTER.match(text)
    match = re.search(r"^licen[sc]e:[ \t]*['\"]?([\w .+-]+?)['\"]?[ \t]*$", matter[1], re.MULTILINE) if matter else None
    return match[1] if match else ""
