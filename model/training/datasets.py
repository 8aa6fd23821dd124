"""Public datasets of `data get NAME`: URL, licence, size, checks and output files."""

from __future__ import annotations

import gzip
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from headlight.model.errors import TrainingError
from headlight.model.files import write_file


@dataclass(frozen=True)
class DatasetFile:
    """One file of a dataset. Size and digest are unknown if the published file changes."""

    url: str
    size: int | None = None  # bytes
    digest: str | None = None  # algorithm of hashlib and digest: "sha256:…"

    @property
    def name(self) -> str:
        """The file name on disk."""
        return self.url.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class PublicDataset:
    """A public dataset. Descriptions are printed before the download."""

    name: str
    about: str
    licence: str
    size: str  # description such as "about 1.5 MB"
    page: str  # web page for manual downloads
    files: tuple[DatasetFile, ...]
    unpack: Callable[[Path], list[Path]]  # checks and unpacks the files in a folder, and returns the corpus files


def check_gzip_lines(folder: Path) -> list[Path]:
    """Check that every `.gz` file is complete UTF-8 text, and return the files."""
    paths = sorted(folder.glob("*.gz"))
    for path in paths:
        try:
            with gzip.open(path, "rt", encoding="utf-8") as file:
                lines = sum(1 for _ in file)
        except (OSError, EOFError, UnicodeDecodeError) as error:
            raise make_damage_error(path, error) from error
        if not lines:
            raise make_damage_error(path, "it is empty")
    return paths


def unpack_pairs(folder: Path) -> list[Path]:
    """Extract the sentence file of each ManyThings zip: a TSV of English, the second language, and contributors."""
    outputs: list[Path] = []
    for path in sorted(folder.glob("*.zip")):
        try:
            with zipfile.ZipFile(path) as archive:
                broken = archive.testzip()
                names = [name for name in archive.namelist() if name.endswith(".txt") and not name.startswith("_")]
                text = archive.read(names[0]).decode("utf-8") if names and broken is None else ""
        except (zipfile.BadZipFile, OSError, UnicodeDecodeError) as error:
            raise make_damage_error(path, error) from error
        if not text or "\t" not in text.splitlines()[0]:
            raise make_damage_error(path, f"{broken or 'no file of sentence pairs'} in it")
        outputs.append(folder / Path(names[0]).name)
        write_file(outputs[-1], text)
    return outputs


def unpack_reviews(folder: Path) -> list[Path]:
    """Write `train.tsv.gz` and `test.tsv.gz` from aclImdb, one review per line: label (1 is positive), tab, text."""
    path = folder / "aclImdb_v1.tar.gz"
    rows: dict[str, list[str]] = {"train": [], "test": []}
    try:
        with tarfile.open(path, "r:gz") as archive:
            for part, line in _read_reviews(archive):
                rows[part].append(line)
    except (tarfile.TarError, OSError, EOFError, UnicodeDecodeError) as error:
        raise make_damage_error(path, error) from error
    if not all(rows.values()):
        raise make_damage_error(path, "no reviews in it")
    outputs = [folder / f"{part}.tsv.gz" for part in rows]
    for target, lines in zip(outputs, rows.values(), strict=True):
        text = "label\ttext\n" + "".join(sorted(lines))
        write_file(target, gzip.compress(text.encode(), mtime=0))
    return outputs


def _read_reviews(archive: tarfile.TarFile) -> Iterator[tuple[str, str]]:
    for member in archive:
        names = Path(member.name).parts  # aclImdb, train or test, pos or neg, 123_8.txt
        if member.isfile() and len(names) == 4 and names[1] in ("train", "test") and names[2] in ("pos", "neg"):
            file = archive.extractfile(member)
            text = file.read().decode("utf-8") if file else ""
            yield names[1], f"{int(names[2] == 'pos')}\t{' '.join(text.replace('<br />', ' ').split())}\n"


def make_damage_error(path: Path, problem: object) -> TrainingError:
    """Return the error for a file with unexpected content. `problem`: a clause or an exception."""
    return TrainingError(f"{path} is damaged or unexpected: {problem}. Delete it and download the dataset again.")


_MULTI30K = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
_MANYTHINGS = "https://www.manythings.org/anki"

PUBLIC_SETS: dict[str, PublicDataset] = {
    dataset.name: dataset
    for dataset in (
        PublicDataset(
            "multi30k",
            "31,014 picture captions and 1,000 to test with, German and English",
            "no licence stated; its README: for non-commercial research and/or educational purposes",
            "about 1.5 MB",
            "https://github.com/multi30k/dataset",
            tuple(
                DatasetFile(f"{_MULTI30K}/{part}.{language}.gz")
                for part in ("train", "val", "test_2016_flickr")
                for language in ("de", "en")
            ),
            check_gzip_lines,
        ),
        PublicDataset(
            "tatoeba-deu",
            "everyday sentences, English and German (Tatoeba, selected by ManyThings)",
            "CC BY 2.0 (France), attribution: tatoeba.org and www.manythings.org/anki",
            "about 11 MB, growing",
            "https://www.manythings.org/anki/",
            (DatasetFile(f"{_MANYTHINGS}/deu-eng.zip"),),
            unpack_pairs,
        ),
        PublicDataset(
            "tatoeba-cmn",
            "everyday sentences, English and Chinese (Tatoeba, selected by ManyThings)",
            "CC BY 2.0 (France), attribution: tatoeba.org and www.manythings.org/anki",
            "about 1.5 MB, growing",
            "https://www.manythings.org/anki/",
            (DatasetFile(f"{_MANYTHINGS}/cmn-eng.zip"),),
            unpack_pairs,
        ),
        PublicDataset(
            "imdb",
            "50,000 film reviews, half positive (Large Movie Review Dataset, Maas et al. 2011)",
            "no licence stated; its README asks to cite Maas et al. 2011",
            "84 MB",
            "https://ai.stanford.edu/~amaas/data/sentiment/",
            (
                DatasetFile(
                    "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
                    size=84_125_825,
                    digest="md5:7c2ac02c03563afcf9b574c7e56c153a",
                ),
            ),
            unpack_reviews,
        ),
    )
}
