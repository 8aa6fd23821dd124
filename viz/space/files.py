"""Find the files of a Hugging Face Space: those that the page needs at run time and those that the Hub reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from headlight.model.checkpoints.shipped import SHIPPED_NAMES
from headlight.model.errors import CommandError, repr_short

PACKAGE_ROOT = Path(__file__).resolve().parents[2]
READMES = ("README.md", "README.zh.md")
ROOT_FILES = (
    *READMES,
    "requirements.txt",
    "app.py",
    "headlight.py",
    "LICENSE",
    "LICENSES.md",
)
CODE_SUFFIXES = (".py", ".js", ".css")  # a working tree may also contain caches, backups and notes
CORPORA = ("guess", "mini", "order", "toy")  # used by lessons; the larger ones are only for training
MARKDOWN_IMAGE = re.compile(r"!\[[^\]]*\]\((?!https?:)([^)\s]+)\)")  # a local image; group 1 is its path


def find_root(folders: Iterable[Path] | None = None) -> Path:
    """Return the first of `folders` that is a checkout. By default: the package's parent, then the current folder."""
    for folder in folders or (PACKAGE_ROOT, Path.cwd()):
        if all((folder / name).is_file() for name in ROOT_FILES):
            return folder
    raise CommandError(
        "A Space is uploaded from a checkout: an installed package has no README.md and no requirements.txt. "
        "Change into the folder of the checkout and run the command there."
    )


def find_space_files(root: Path, extra_models: Iterable[str] = ()) -> Mapping[str, Path]:
    """Return the local file for each path in the Space, sorted by path.

    `extra_models` are names of folders in assets/models, in addition to the bundled models.
    """
    paths = [root / name for name in ROOT_FILES]
    texts = [(root / name).read_text(encoding="utf-8") for name in READMES]
    paths += [root / image for text in texts for image in MARKDOWN_IMAGE.findall(text)]
    for package in ("model", "viz"):
        paths += [path for path in (root / package).rglob("*") if path.suffix in CODE_SUFFIXES]
    assets = root / "assets"
    paths += [assets / "first.json", assets / "models" / "hub.json"]
    paths += [path for name in ("words", "faithfulness", "atlas", "lesson") for path in (assets / name).glob("*.json")]
    paths += (assets / "pictures").glob("*.png")
    paths += [assets / "corpora" / f"{name}.tsv" for name in CORPORA]
    for name in dict.fromkeys((*SHIPPED_NAMES, *extra_models)):
        paths += _find_model_files(assets / "models", name)
        # A recipe contains the languages of its model.
        paths += [path for path in [assets / "recipes" / f"{name}.json"] if path.is_file()]
    return MappingProxyType({path.relative_to(root).as_posix(): path for path in sorted(paths)})


def _find_model_files(models: Path, name: str) -> list[Path]:
    folder = models / name
    if Path(name).name != name or not (folder / "config.json").is_file():
        raise CommandError(
            f"{models} has no model {repr_short(name)}. Put its folder there, and give the folder's name."
        )
    return [path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")]
