"""Surveys: every head of every line, resuming, search and report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars
import pytest

from headlight import Translator, main
from headlight.model.errors import CommandError, RequestError
from headlight.model.experiments import survey_files
from headlight.model.experiments.importance import AttentionPart, all_ablation_losses
from headlight.model.experiments.survey import LOOK_SCALE, SurveyLine, check_measures, survey_batch, word_per_token
from headlight.model.experiments.survey_files import (
    SurveyPlan,
    complete_parts,
    make_plan,
    read_plan,
    run_survey,
    start_survey,
)
from headlight.model.experiments.survey_search import find_looks, rank_heads, summarise
from headlight.model.measures.alignment import AlignmentCounts, attention_links, count_errors, parse_links
from headlight.model.measures.roles import assign_roles, role_shares
from headlight.model.measures.statistics import measure
from headlight.model.records import KINDS
from headlight.model.text.gold_links import parse_segmented
from headlight.viz.settings import MODELS

TOY = MODELS / "toy"
ROOT = Path(__file__).resolve().parents[3]
PAIRS = [
    SurveyLine(0, "ich mochte ein bier", "i want a beer", "0-0 1-1 2-2 3-3"),
    SurveyLine(1, "ich mochte ein cola", "i want a coke", "0-0 1-1p 2?2 3-3"),
]
LINES = ["ich mochte ein bier", "", "ein cola", "ich mochte ein cola", "ein bier", "mochte ein bier"]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(TOY, "cpu")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(LINES), encoding="utf-8")
    return path


def surveyed(folder: Path, file: Path, measures: tuple[str, ...] = ("entropy", "roles", "looks")) -> polars.DataFrame:
    """A survey in parts of two lines, as one table."""
    made = make_plan(TOY, file, check_measures(measures))
    start_survey(folder, SurveyPlan(**{**vars(made), "part": 2}))
    run_survey(folder, TOY, file, device="cpu")
    return polars.concat([polars.read_parquet(part) for part in complete_parts(folder, "heads")])


def test_every_head_of_every_sentence_has_a_row_with_what_the_measures_say(translator: Translator) -> None:
    measures = check_measures(("looks", "importance", "alignment", "roles", "peak", "entropy"))
    assert measures == ("entropy", "peak", "roles", "alignment", "importance", "looks")
    heads = polars.DataFrame(survey_batch(translator, PAIRS, measures).heads)
    for pair in PAIRS:
        answer = translator.translate(pair.source, target=pair.target)
        for kind in KINDS:
            shares = role_shares(answer, kind)
            names, _ = assign_roles(kind, shares.shares, shares.chances, shares.coverage)
            layers, count = names.shape
            rows = heads.filter((polars.col("sentence") == pair.number) & (polars.col("kind") == kind))
            assert [(row["layer"], row["head"]) for row in rows.iter_rows(named=True)] == [
                (layer, head) for layer in range(layers) for head in range(count)
            ]
            for row in rows.iter_rows(named=True):
                layer, head = row["layer"], row["head"]
                weights = answer.attention.of(kind)[layer, head]
                for name in ("entropy", "peak"):
                    expected = float(measure(answer, kind, name)[layer, head])
                    assert row[name] == pytest.approx(expected, abs=1e-4, nan_ok=True)
                assert row["role"] == names[layer, head]
                at = np.frombuffer(row["looks_at"], dtype="<u2")
                strong = np.frombuffer(row["looks_with"], dtype=np.uint8)
                np.testing.assert_allclose(strong / LOOK_SCALE, weights.max(axis=-1), atol=0.5 / LOOK_SCALE + 1e-4)
                np.testing.assert_allclose(weights[range(len(at)), at], weights.max(axis=-1), atol=1e-4)
            lost = all_ablation_losses(translator, answer, [(AttentionPart(kind, 0, 0),)])[0]
            assert rows["importance"][0] == pytest.approx(lost, abs=1e-3)


def test_alignment_counts_are_those_of_each_head_by_itself(translator: Translator) -> None:
    heads = polars.DataFrame(survey_batch(translator, PAIRS, ("alignment",)).heads).filter(
        polars.col("kind") == "cross"
    )
    for pair in PAIRS:
        answer = translator.translate(pair.source, target=pair.target)
        source, target = parse_segmented(pair.source), parse_segmented(str(pair.target))
        gold = parse_links(str(pair.links), len(source.spans), len(target.spans))
        for row in heads.filter(polars.col("sentence") == pair.number).iter_rows(named=True):
            weights = answer.attention.cross[row["layer"], row["head"]]
            for shift in (0, 1):
                links = attention_links(
                    weights, answer.target_tokens, target.spans, answer.source_tokens, source.spans, shift
                )
                right = row[f"right_sure_{shift}"], row[f"right_possible_{shift}"]
                assert AlignmentCounts(row["linked"], row["sure"], *right) == count_errors(links, gold)
    assert heads.filter(polars.col("sentence") == 1)["sure"][0] == 2  # one is marked with p, one with ?


def test_precision_and_recall_by_hand() -> None:
    errors = AlignmentCounts(linked=4, sure=5, linked_and_sure=2, linked_and_possible=3)
    assert (errors.precision, errors.recall) == (3 / 4, 2 / 5)
    assert (AlignmentCounts().precision, AlignmentCounts().recall) == (1, 1)


def test_alignment_needs_links_and_a_translation(translator: Translator) -> None:
    for given, missing in ((SurveyLine(3, "ein bier"), "translation"), (SurveyLine(3, "ein bier", "a beer"), "links")):
        with pytest.raises(CommandError, match=f"Line 4 has no {missing}"):
            survey_batch(translator, [given], ("alignment",))


def test_a_sentence_that_cannot_be_read_is_told_and_has_no_rows(translator: Translator) -> None:
    found = survey_batch(translator, [SurveyLine(0, "ein bier"), SurveyLine(1, "ein " * 5000)], ("entropy",))
    assert found.sentences["refused"][0] == ""
    assert found.sentences["refused"][1]
    assert set(found.heads["sentence"]) == {0}


def test_words_stand_for_all_their_tokens(translator: Translator) -> None:
    answer = translator.translate("ein bier")
    words = word_per_token(answer.source_tokens, answer.source_text)
    assert len(words) == len(answer.source_tokens)
    assert words[-1] == answer.source_tokens[-1].text
    assert set(words[:-1]) == {"ein", "bier"}


def test_an_interrupted_survey_goes_on_and_equals_one_that_was_not(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = surveyed(tmp_path / "whole", file)
    assert sorted(set(whole["sentence"])) == [0, 2, 3, 4, 5]
    measured = survey_files.survey_batch
    calls = []

    def stopping(*given: object) -> object:
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return measured(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(survey_files, "survey_batch", stopping)
    with pytest.raises(KeyboardInterrupt):
        surveyed(tmp_path / "stopped", file)
    with pytest.raises(CommandError, match="2 of 3 parts are missing"):
        find_looks(tmp_path / "stopped", "a", "b")
    again = surveyed(tmp_path / "stopped", file)
    assert len(calls) == 4  # one whole, one stopped, two anew
    assert again.equals(whole)


@pytest.mark.slow
def test_two_processes_measure_what_one_does(tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("".join(f"{line}\n" for line in LINES * 12), encoding="utf-8")  # two parts of a survey
    one = surveyed(tmp_path / "one", file, ("entropy", "peak"))
    asked = ["survey", str(file), "--model", str(TOY), "--measure", "entropy,peak", "--workers", "2"]
    command = [sys.executable, "-m", "headlight", *asked, "--device", "cpu", "--output", str(tmp_path / "two")]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert ran.returncode == 0, ran.stderr
    assert "72 lines in 2 parts" in ran.stdout
    two = polars.concat([polars.read_parquet(part) for part in complete_parts(tmp_path / "two", "heads")])
    for name in one.columns:  # other passes have other neighbours: the same but for rounding
        if name in ("entropy", "peak"):
            np.testing.assert_allclose(two[name].to_numpy(), one[name].to_numpy(), atol=1e-4)
        else:
            assert two[name].to_list() == one[name].to_list()


def test_a_folder_keeps_one_survey(tmp_path: Path, file: Path) -> None:
    surveyed(tmp_path / "kept", file, ("entropy",))
    with pytest.raises(CommandError, match="other values of measures"):
        surveyed(tmp_path / "kept", file, ("peak",))
    file.write_text("ein bier\n", encoding="utf-8")
    with pytest.raises(CommandError, match="other values of digest, lines"):
        surveyed(tmp_path / "kept", file, ("entropy",))
    with pytest.raises(CommandError, match="is not a survey"):
        read_plan(tmp_path)


def test_a_search_finds_what_a_loop_over_the_maps_finds(tmp_path: Path, file: Path, translator: Translator) -> None:
    surveyed(tmp_path / "kept", file)
    answers = [translator.translate(line, beam_size=1) for line in LINES if line]
    expected: dict[tuple[str, int, int], int] = {}
    for answer in answers:
        rows, keys = (
            word_per_token(tokens, text)
            for tokens, text in ((answer.target_tokens, answer.text), (answer.source_tokens, answer.source_text))
        )
        for layer, heads in enumerate(answer.attention.cross):
            for head, weights in enumerate(heads):
                for row, word in enumerate(rows):
                    best = int(weights[row].argmax())
                    if (
                        word == "a"
                        and keys[best] == "ein"
                        and round(weights[row, best] * LOOK_SCALE) / LOOK_SCALE >= 0.3
                    ):
                        expected["cross", layer, head] = expected.get(("cross", layer, head), 0) + 1
    found = find_looks(tmp_path / "kept", "A", "Ein")
    assert {tuple(each.head): each.looks for each in found} == expected
    assert [each.share for each in found] == sorted((each.share for each in found), reverse=True)
    for each in found:
        assert len(each.examples) <= 3
        assert all("ein" in source for _, _, source, _ in each.examples)


def test_sums_are_means_and_deviations_over_sentences(tmp_path: Path, file: Path) -> None:
    table = surveyed(tmp_path / "kept", file, ("entropy", "punctuation", "roles"))
    found = summarise(tmp_path / "kept")
    assert tuple(found) == KINDS
    for kind, sums in found.items():
        assert sums.sentences == 5
        for row in table.filter((polars.col("kind") == kind) & (polars.col("sentence") == 0)).iter_rows(named=True):
            place = row["layer"], row["head"]
            own = table.filter(
                (polars.col("kind") == kind) & (polars.col("layer") == place[0]) & (polars.col("head") == place[1])
            )
            assert sums.means["entropy"][place] == pytest.approx(np.mean(own["entropy"].to_numpy()), abs=1e-6)
            assert sums.spreads["entropy"][place] == pytest.approx(np.std(own["entropy"].to_numpy()), abs=1e-5)
            assert kind == "decoder" or np.isnan(sums.means["punctuation"][place])  # no line read has any
            assert sum(sums.roles[place[0]][place[1]].values()) == 5


def test_the_command_surveys_searches_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, folder = tmp_path / "pairs.tsv", tmp_path / "kept"
    file.write_text("".join(f"{each.source}\t{each.target}\t{each.links}\n" for each in PAIRS), encoding="utf-8")
    asked = ["survey", str(file), "--model", str(TOY), "--measure", "alignment,entropy,roles,importance,looks"]
    assert main([*asked, "--output", str(folder), "--device", "cpu"]) == 0
    assert "2 lines in 1 parts" in capsys.readouterr().out
    ranked = rank_heads(folder)
    assert [each.errors.rate for each in ranked] == sorted(each.errors.rate for each in ranked)
    assert main(["survey", "find", str(folder), "--from", "a", "--to", "zebra"]) == 0
    assert "No head of toy looks" in capsys.readouterr().out
    assert main(["survey", "report", str(folder)]) == 0
    page = Path(capsys.readouterr().out.strip()).read_text(encoding="utf-8")
    for said in (
        "Cross-attention",
        "Role:",
        "Importance:",
        "entropy, bits",
        "Alignment",
        f"{ranked[0].errors.rate:.3f}",
    ):
        assert said in page
    assert "prefers-color-scheme: dark" in page
    assert not any(fetched in page for fetched in ("<script", "src=", "href=", "url(", "@import"))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["find"], "Name the folder of a survey"),
        (["report", "nowhere"], "is not a survey"),
        (["find", "nowhere"], "--from WORD --to WORD"),
        (["FILE"], "--output"),
        (["FILE", "--output", "x", "--workers", "0"], "one process at least"),
        (["FILE", "--output", "x", "--measure", "speed"], "speed"),
    ],
)
def test_what_is_asked_wrongly_is_said(
    arguments: list[str], complaint: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [str(file) if each == "FILE" else str(tmp_path / each) if each == "x" else each for each in arguments]
    assert main(["survey", *asked, "--model", str(TOY)]) == 2
    assert complaint in capsys.readouterr().err


def test_without_polars_the_command_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    assert main(["survey", str(file), "--output", "x"]) == 2
    assert "headlight-attention[survey]" in capsys.readouterr().err


def test_an_unknown_measure_is_refused_by_name() -> None:
    with pytest.raises(RequestError, match='"speed" was given'):
        check_measures(["entropy", "speed"])


def test_the_plan_is_what_decides_every_row(file: Path) -> None:
    made = make_plan(TOY, file, ("entropy",))
    assert (made.model, made.file, made.lines, made.parts) == ("toy", "lines.txt", len(LINES), 1)
    assert made.revision
    assert json.loads(json.dumps(made.measures)) == ["entropy"]
    file.write_text("", encoding="utf-8")
    with pytest.raises(CommandError, match="has no lines"):
        make_plan(TOY, file, ("entropy",))
