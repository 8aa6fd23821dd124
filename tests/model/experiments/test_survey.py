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
from headlight.model.experiments.importance import AttentionPart, measure_all_ablation_losses
from headlight.model.experiments.survey import LOOK_SCALE, SurveyLine, check_measures, survey_batch, word_per_token
from headlight.model.experiments.survey_files import (
    SurveyPlan,
    find_complete_parts,
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


def survey_table(
    folder: Path, file: Path, measures: tuple[str, ...] = ("entropy", "roles", "looks")
) -> polars.DataFrame:
    """Run a survey in parts of two lines and return it as one table."""
    plan = make_plan(TOY, file, check_measures(measures))
    start_survey(folder, SurveyPlan(**{**vars(plan), "part": 2}))
    run_survey(folder, TOY, file, device="cpu")
    return polars.concat([polars.read_parquet(part) for part in find_complete_parts(folder, "heads")])


def test_every_head_of_every_sentence_has_a_row_with_its_measures(translator: Translator) -> None:
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
            lost = measure_all_ablation_losses(translator, answer, [(AttentionPart(kind, 0, 0),)])[0]
            assert rows["importance"][0] == pytest.approx(lost, abs=1e-3)


def test_alignment_counts_match_single_heads(translator: Translator) -> None:
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
    assert heads.filter(polars.col("sentence") == 1)["sure"][0] == 2  # one link is marked with p, one with ?


def test_precision_and_recall_by_hand() -> None:
    errors = AlignmentCounts(linked=4, sure=5, linked_and_sure=2, linked_and_possible=3)
    assert (errors.precision, errors.recall) == (3 / 4, 2 / 5)
    assert (AlignmentCounts().precision, AlignmentCounts().recall) == (1, 1)


def test_alignment_without_links_or_translation_raises(translator: Translator) -> None:
    for line, missing in ((SurveyLine(3, "ein bier"), "translation"), (SurveyLine(3, "ein bier", "a beer"), "links")):
        with pytest.raises(CommandError, match=f"Line 4 has no {missing}"):
            survey_batch(translator, [line], ("alignment",))


def test_invalid_sentence_is_reported_and_has_no_rows(translator: Translator) -> None:
    result = survey_batch(translator, [SurveyLine(0, "ein bier"), SurveyLine(1, "ein " * 5000)], ("entropy",))
    assert result.sentences["refused"][0] == ""
    assert result.sentences["refused"][1]
    assert set(result.heads["sentence"]) == {0}


def test_every_token_has_its_word(translator: Translator) -> None:
    answer = translator.translate("ein bier")
    words = word_per_token(answer.source_tokens, answer.source_text)
    assert len(words) == len(answer.source_tokens)
    assert words[-1] == answer.source_tokens[-1].text
    assert set(words[:-1]) == {"ein", "bier"}


def test_interrupted_survey_resumes_with_equal_results(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uninterrupted = survey_table(tmp_path / "whole", file)
    assert sorted(set(uninterrupted["sentence"])) == [0, 2, 3, 4, 5]
    survey_batch = survey_files.survey_batch
    calls = []

    def interrupt(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return survey_batch(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(survey_files, "survey_batch", interrupt)
    with pytest.raises(KeyboardInterrupt):
        survey_table(tmp_path / "stopped", file)
    with pytest.raises(CommandError, match="2 of 3 parts are missing"):
        find_looks(tmp_path / "stopped", "a", "b")
    resumed = survey_table(tmp_path / "stopped", file)
    assert len(calls) == 4  # one complete, one interrupted, two after resuming
    assert resumed.equals(uninterrupted)


@pytest.mark.slow
def test_two_processes_match_one_process(tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("".join(f"{line}\n" for line in LINES * 12), encoding="utf-8")  # two parts of a survey
    one = survey_table(tmp_path / "one", file, ("entropy", "peak"))
    arguments = ["survey", str(file), "--model", str(TOY), "--measure", "entropy,peak", "--workers", "2"]
    command = [sys.executable, "-m", "headlight", *arguments, "--device", "cpu", "--output", str(tmp_path / "two")]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert process.returncode == 0, process.stderr
    assert "72 lines in 2 parts" in process.stdout
    two = polars.concat([polars.read_parquet(part) for part in find_complete_parts(tmp_path / "two", "heads")])
    for name in one.columns:  # batches differ, so values are equal up to rounding
        if name in ("entropy", "peak"):
            np.testing.assert_allclose(two[name].to_numpy(), one[name].to_numpy(), atol=1e-4)
        else:
            assert two[name].to_list() == one[name].to_list()


def test_folder_with_another_survey_raises(tmp_path: Path, file: Path) -> None:
    survey_table(tmp_path / "survey", file, ("entropy",))
    with pytest.raises(CommandError, match="other values of measures"):
        survey_table(tmp_path / "survey", file, ("peak",))
    file.write_text("ein bier\n", encoding="utf-8")
    with pytest.raises(CommandError, match="other values of digest, lines"):
        survey_table(tmp_path / "survey", file, ("entropy",))
    with pytest.raises(CommandError, match="is not a survey"):
        read_plan(tmp_path)


def test_search_matches_plain_loop_over_maps(tmp_path: Path, file: Path, translator: Translator) -> None:
    survey_table(tmp_path / "survey", file)
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
    heads_found = find_looks(tmp_path / "survey", "A", "Ein")
    assert {tuple(each.head): each.looks for each in heads_found} == expected
    assert [each.share for each in heads_found] == sorted((each.share for each in heads_found), reverse=True)
    for each in heads_found:
        assert len(each.examples) <= 3
        assert all("ein" in source for _, _, source, _ in each.examples)


def test_summary_has_means_and_deviations_over_sentences(tmp_path: Path, file: Path) -> None:
    table = survey_table(tmp_path / "survey", file, ("entropy", "punctuation", "roles"))
    result = summarise(tmp_path / "survey")
    assert tuple(result) == KINDS
    for kind, sums in result.items():
        assert sums.sentences == 5
        for row in table.filter((polars.col("kind") == kind) & (polars.col("sentence") == 0)).iter_rows(named=True):
            place = row["layer"], row["head"]
            own = table.filter(
                (polars.col("kind") == kind) & (polars.col("layer") == place[0]) & (polars.col("head") == place[1])
            )
            assert sums.means["entropy"][place] == pytest.approx(np.mean(own["entropy"].to_numpy()), abs=1e-6)
            assert sums.spreads["entropy"][place] == pytest.approx(np.std(own["entropy"].to_numpy()), abs=1e-5)
            assert kind == "decoder" or np.isnan(sums.means["punctuation"][place])  # no line has punctuation
            assert sum(sums.roles[place[0]][place[1]].values()) == 5


def test_survey_command_measures_searches_and_writes_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, folder = tmp_path / "pairs.tsv", tmp_path / "survey"
    file.write_text("".join(f"{pair.source}\t{pair.target}\t{pair.links}\n" for pair in PAIRS), encoding="utf-8")
    command = ["survey", str(file), "--model", str(TOY), "--measure", "alignment,entropy,roles,importance,looks"]
    assert main([*command, "--output", str(folder), "--device", "cpu"]) == 0
    assert "2 lines in 1 parts" in capsys.readouterr().out
    ranked = rank_heads(folder)
    assert [pair.errors.rate for pair in ranked] == sorted(pair.errors.rate for pair in ranked)
    assert main(["survey", "find", str(folder), "--from", "a", "--to", "zebra"]) == 0
    assert "No head of toy looks" in capsys.readouterr().out
    assert main(["survey", "report", str(folder)]) == 0
    page = Path(capsys.readouterr().out.strip()).read_text(encoding="utf-8")
    for part in (
        "Cross-attention",
        "Most frequent role, and its share of the sentences",
        "Importance:",
        "entropy, bits",
        "Alignment",
        f"{ranked[0].errors.rate:.3f}",
    ):
        assert part in page
    assert "prefers-color-scheme: dark" in page
    assert not any(reference in page for reference in ("<script", "src=", "href=", "url(", "@import"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["find"], "Name the folder of a survey"),
        (["report", "nowhere"], "is not a survey"),
        (["find", "nowhere"], "--from WORD --to WORD"),
        (["FILE"], "--output"),
        (["FILE", "--output", "x", "--workers", "0"], "--workers must be at least 1"),
        (["FILE", "--output", "x", "--measure", "speed"], "speed"),
    ],
)
def test_invalid_survey_arguments_are_reported(
    arguments: list[str], message: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = [str(file) if each == "FILE" else str(tmp_path / each) if each == "x" else each for each in arguments]
    assert main(["survey", *values, "--model", str(TOY)]) == 2
    assert message in capsys.readouterr().err


def test_survey_without_polars_prints_install_command(
    monkeypatch: pytest.MonkeyPatch, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    assert main(["survey", str(file), "--output", "x"]) == 2
    assert "headlight-attention[survey]" in capsys.readouterr().err


def test_unknown_measure_raises() -> None:
    with pytest.raises(RequestError, match='"speed" was given'):
        check_measures(["entropy", "speed"])


def test_plan_contains_model_file_and_measures(file: Path) -> None:
    plan = make_plan(TOY, file, ("entropy",))
    assert (plan.model, plan.file, plan.lines, plan.parts) == ("toy", "lines.txt", len(LINES), 1)
    assert plan.revision
    assert json.loads(json.dumps(plan.measures)) == ["entropy"]
    file.write_text("", encoding="utf-8")
    with pytest.raises(CommandError, match="has no lines"):
        make_plan(TOY, file, ("entropy",))


@pytest.mark.parametrize("complete", [False, True])
def test_new_start_deletes_files_of_killed_writes(file: Path, tmp_path: Path, complete: bool) -> None:
    plan = make_plan(TOY, file, ("entropy",))
    own = tmp_path / "notes.part"
    own.write_bytes(b"of the user")
    if complete:
        start_survey(tmp_path, plan)
        run_survey(tmp_path, TOY, file, device="cpu")
    before = {path.name for path in tmp_path.iterdir()} | {"survey.json"}
    (tmp_path / ".heads-00001.parquet.0123abcd.part").write_bytes(b"half")
    start_survey(tmp_path, plan)
    assert {path.name for path in tmp_path.iterdir()} == before
