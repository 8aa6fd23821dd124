"""Corpora are streamed and cleaned, with a count per reason."""

from __future__ import annotations

import gzip
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from headlight.model.errors import TrainingError
from headlight.model.training.corpora import Cleaner, Cleaning, CleaningReport, CorpusSpec, Pair, read_pairs

FAULTS = [
    Pair("Guten Tag.", "Good day."),
    Pair("  \t ", "Nothing."),
    Pair("Nichts.", ""),
    Pair("Guten  Tag.", "Good day. "),  # duplicate of the first except for white space
    Pair("Ja.", "This is by far too much of a translation."),
    Pair("Ja.", "Of course."),  # short ones may differ by a few characters
    Pair("Wort " * 23, "word " * 23),
    Pair("Scho\u0308n.", "Nice."),  # decomposed umlaut
    Pair("Sch\u00f6n.", "Nice."),  # the same, composed
]


def test_dropped_pairs_are_counted_by_reason() -> None:
    report = CleaningReport()
    pairs = list(Cleaner(Cleaning(max_characters=97)).clean(FAULTS, report))
    assert pairs == [Pair("Guten Tag.", "Good day."), Pair("Ja.", "Of course."), Pair("Schön.", "Nice.")]
    assert report.dropped == {"blank": 2, "too long": 1, "length ratio": 1, "duplicate": 2}
    assert (report.read, report.kept) == (9, 3)
    assert str(report) == "3 of 9 pairs kept; dropped: blank 2, too long 1, length ratio 1, duplicate 2"


def test_text_is_normalised_to_nfc() -> None:
    (pair,) = Cleaner(Cleaning()).clean([FAULTS[7]], CleaningReport())
    assert unicodedata.is_normalized("NFC", pair.source)


def test_duplicates_are_dropped_across_corpora_unless_allowed() -> None:
    cleaner, keeper = Cleaner(Cleaning()), Cleaner(Cleaning(duplicates=True))
    pair = Pair("Hallo.", "Hello.")
    counts = [len(list(each.clean([pair, pair], CleaningReport()))) for each in (cleaner, cleaner, keeper)]
    assert counts == [1, 0, 2]


def test_digest_depends_only_on_accepted_pairs() -> None:
    def digest(*pairs: Pair) -> str:
        cleaner = Cleaner(Cleaning())
        list(cleaner.clean(pairs, CleaningReport()))
        return cleaner.digest.hexdigest()

    assert digest(FAULTS[0]) == digest(FAULTS[0], FAULTS[1], FAULTS[3])
    assert len({digest(FAULTS[0]), digest(FAULTS[5]), digest(FAULTS[0], FAULTS[5])}) == 3


def test_all_file_formats_give_the_same_pairs(tmp_path: Path) -> None:
    pairs = [Pair("Käse", "cheese"), Pair("Zeile\u2028eins", "line one"), Pair("爱", "love")]
    files = {
        "a.de": "".join(f"{pair.source}\n" for pair in pairs),
        "a.en": "".join(f"{pair.target}\n" for pair in pairs),
        "a.tsv": "en\tnote\tde\n" + "".join(f"{pair.target}\tx\t{pair.source}\n" for pair in pairs),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    columns = {"source_column": 2, "target_column": 0, "header": True}
    specs = [
        CorpusSpec(source="a.de", target="a.en"),
        CorpusSpec(source="a.de.gz", target="a.en.gz"),
        CorpusSpec(source="a.tsv", **columns),  # type: ignore[arg-type]
        CorpusSpec(source="a.tsv.gz", **columns),  # type: ignore[arg-type]
    ]
    for spec in specs:
        read = [Pair(pair.source.rstrip("\n"), pair.target.rstrip("\n")) for pair in read_pairs(spec, tmp_path)]
        assert read == pairs, spec


def test_fold_target_case_changes_only_the_target(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("Der Hund\tThe Dog\n", encoding="utf-8")
    (pair,) = read_pairs(CorpusSpec(source="a.tsv", fold_target_case=True), tmp_path)
    assert pair == Pair("Der Hund", "the dog")


def test_pairs_are_read_lazily(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("eins\tone\nkaputt\n", encoding="utf-8")
    pairs = read_pairs(CorpusSpec(source="a.tsv"), tmp_path)
    assert next(iter(pairs)) == Pair("eins", "one")  # before the second line is parsed
    with pytest.raises(TrainingError, match="line 2: 1 column"):
        next(iter(pairs))


def write_unequal_files(folder: Path) -> None:
    (folder / "a.de").write_text("eins\nzwei\n", encoding="utf-8")
    (folder / "a.en").write_text("one\n", encoding="utf-8")


def write_latin1_file(folder: Path) -> None:
    (folder / "a.de").write_bytes("Käse\n".encode("latin-1"))
    (folder / "a.en").write_text("cheese\n", encoding="utf-8")


def write_truncated_gzip(folder: Path) -> None:
    content = gzip.compress(b"eins\n" * 9973)
    (folder / "b.de.gz").write_bytes(content[: len(content) // 2])
    (folder / "b.en").write_text("one\n" * 9973, encoding="utf-8")


@pytest.mark.parametrize(
    ("write", "source", "message"),
    [
        (write_unequal_files, "a", "a.en ends first"),
        (write_latin1_file, "a", "is not UTF-8"),
        (write_truncated_gzip, "b", "damaged or cut short"),
        (write_latin1_file, "absent", "does not exist. Check its name"),
    ],
)
def test_invalid_corpus_files_are_reported(
    tmp_path: Path, write: Callable[[Path], None], source: str, message: str
) -> None:
    write(tmp_path)
    ending = ".de.gz" if source == "b" else ".de"
    with pytest.raises(TrainingError, match=message):
        list(read_pairs(CorpusSpec(source=source + ending, target=source + ".en"), tmp_path))


def test_source_tag_is_prepended(tmp_path: Path) -> None:
    (tmp_path / "films.tsv").write_text("你好\tHello Tom.\n\t.\n", encoding="utf-8")
    spec = CorpusSpec(source="films.tsv", fold_target_case=True, source_tag="«lower»")
    assert list(read_pairs(spec, tmp_path)) == [Pair("«lower» 你好", "hello tom.")]


def test_gzipped_file_replaces_missing_plain_file(tmp_path: Path) -> None:
    """Downloaded corpora are gzipped; recipes name them without `.gz`."""
    for name, text in (("a.de", "Guten Tag.\n"), ("a.en", "Good day.\n")):
        with gzip.open(tmp_path / f"{name}.gz", "wt", encoding="utf-8") as file:
            file.write(text)
    assert list(read_pairs(CorpusSpec(source="a.de", target="a.en"), tmp_path)) == [Pair("Guten Tag.\n", "Good day.\n")]


def test_joined_pairs_are_aligned_and_deterministic(tmp_path: Path) -> None:
    for name, lines in (("a.zh", "一。\n二。\n三。\n"), ("a.en", "One.\nTwo.\nThree.\n")):
        (tmp_path / name).write_text(lines, encoding="utf-8")
    spec = CorpusSpec(source="a.zh", target="a.en", joined=2)
    (pair,) = read_pairs(spec, tmp_path)
    english = {"一": "One.", "二": "Two.", "三": "Three."}
    assert pair.target == " ".join(english[character] for character in pair.source.replace("。", ""))
    assert list(read_pairs(spec, tmp_path)) == [pair], "the order is deterministic"
    with pytest.raises(TrainingError, match="joined is 1"):
        CorpusSpec(source="a.zh", joined=1)
