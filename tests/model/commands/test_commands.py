"""The command line `python -m headlight`."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from headlight.model.checkpoints.checkpoint import save_checkpoint
from headlight.model.commands.main import COMMANDS, main
from headlight.model.commands.translate import join_lines
from headlight.model.experiments.effects import measured_effects, word_effects
from headlight.model.experiments.importance import AttentionPart
from headlight.model.experiments.patching import patching
from headlight.model.experiments.reasons import find_rival
from headlight.model.experiments.scan import scan
from headlight.model.records import KINDS
from headlight.model.translate.translator import Translator
from tests.tiny import tiny_translator

SENTENCE = "Ich trinke ein Bier."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("models") / "tiny"
    translator = tiny_translator()
    save_checkpoint(
        path, translator.model, translator.source_tokenizer, translator.target_tokenizer, storage="float32", card="tiny"
    )
    return str(path)


@pytest.fixture
def translator(folder: str) -> Translator:
    return Translator.load(folder, "cpu")


def run(*arguments: str, monkeypatch: pytest.MonkeyPatch, stdin: str = "") -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
    return main([*arguments])


def test_help_names_every_command() -> None:
    output = subprocess.run(
        [sys.executable, "-m", "headlight", "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert all(name in output for name in COMMANDS)


def test_help_loads_no_torch() -> None:
    code = (
        "import sys, headlight as m\n"
        "try: m.main(['--help'])\n"
        "except SystemExit: pass\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_translate_prints_one_line_per_sentence_in_order(
    folder: str, translator: Translator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sentences = ["Ja.", SENTENCE, "Wo ist mein Hund, den ich gestern gesehen habe?", "Nein."]
    assert run("translate", *sentences, "--model", folder, "--max-length", "7", monkeypatch=monkeypatch) == 0
    expected = [join_lines(translator.translate(sentence, max_length=7).text) for sentence in sentences]
    assert capsys.readouterr().out.split("\n") == [*expected, ""]


def test_translate_reads_standard_input_and_keeps_blank_lines(
    folder: str, translator: Translator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        run("translate", "--model", folder, "--max-length", "5", monkeypatch=monkeypatch, stdin="Ja.\n\nNein.\n") == 0
    )
    expected = [
        join_lines(translator.translate(text, max_length=5).text) if text else "" for text in ("Ja.", "", "Nein.")
    ]
    assert capsys.readouterr().out.split("\n") == [*expected, ""]


def test_progress_of_long_input_goes_to_standard_error(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"{SENTENCE} {'Ja. ' * (index % 7)}" for index in range(53)]
    arguments = ("translate", "--model", folder, "--max-length", "3", "--batch-tokens", "101")
    assert run(*arguments, monkeypatch=monkeypatch, stdin="\n".join(lines)) == 0
    captured = capsys.readouterr()
    assert captured.out.count("\n") == 53
    assert "53 lines, " in captured.err


@pytest.mark.parametrize("arguments", [("--beam", "3"), ("--temperature", "1.5", "--seed", "4"), ("--no-repeat", "2")])
def test_translate_passes_decoding_options(
    folder: str,
    translator: Translator,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
) -> None:
    options = {
        "--beam": {"beam_size": 3},
        "--temperature": {"temperature": 1.5, "seed": 4},
        "--no-repeat": {"no_repeat": 2},
    }
    assert run("translate", SENTENCE, "--model", folder, "--max-length", "11", *arguments, monkeypatch=monkeypatch) == 0
    expected = translator.translate(SENTENCE, max_length=11, **options[arguments[0]]).text
    assert capsys.readouterr().out == f"{join_lines(expected)}\n"


def test_line_breaks_in_translations_become_spaces() -> None:
    assert join_lines("a\nb\r\nc") == "a b  c"


def test_inspect_writes_maps_as_npz(
    folder: str, translator: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "maps.npz"
    assert (
        run("inspect", SENTENCE, "--output", str(path), "--model", folder, "--beam", "2", monkeypatch=monkeypatch) == 0
    )
    expected = translator.translate(SENTENCE, beam_size=2)
    with np.load(path, allow_pickle=False) as stored:
        texts = ["source", "source_tokens", "target_tokens", "translation"]
        assert sorted(stored) == ["cross", "decoder", "decoder_tokens", "encoder", *texts]
        for kind in ("encoder", "decoder", "cross"):
            np.testing.assert_array_equal(stored[kind], getattr(expected.attention, kind))
        assert stored["source_tokens"].tolist() == [token.text for token in expected.source_tokens]
        assert stored["target_tokens"].tolist() == [token.text for token in expected.target_tokens]


def test_inspect_writes_csv_with_one_row_per_allowed_weight(
    folder: str, translator: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "maps.csv"
    run(
        "inspect",
        SENTENCE,
        "--output",
        str(path),
        "--model",
        folder,
        "--target",
        "I drink a beer.",
        monkeypatch=monkeypatch,
    )
    expected = translator.translate(SENTENCE, target="I drink a beer.")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    allowed = sum(
        expected.attention.of(kind).shape[0]
        * expected.attention.of(kind).shape[1]
        * expected.attention.allowed(kind).sum()
        for kind in ("encoder", "decoder", "cross")
    )
    assert len(rows) == allowed
    row = next(
        r for r in rows if (r["kind"], r["layer"], r["head"], r["query"], r["key"]) == ("cross", "1", "2", "3", "4")
    )
    assert float(row["weight"]) == pytest.approx(float(expected.attention.cross[1, 2, 3, 4]), rel=1e-5)
    assert row["query_token"] == expected.target_tokens[3].text
    assert row["key_token"] == expected.source_tokens[4].text


def test_inspect_writes_json(
    folder: str, translator: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "maps.json"
    assert run("inspect", SENTENCE, "--output", str(path), "--model", folder, monkeypatch=monkeypatch) == 0
    content = json.loads(path.read_text(encoding="utf-8"))
    expected = translator.translate(SENTENCE)
    assert content["translation"] == expected.text
    np.testing.assert_allclose(np.array(content["decoder"], dtype=np.float32), expected.attention.decoder)


def test_tokenizer_is_trained_on_plain_and_gzip_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("Der Hund schläft.\n" * 7, encoding="utf-8")
    with gzip.open(tmp_path / "b.txt.gz", "wt", encoding="utf-8") as file:
        file.write("The dog sleeps.\n" * 7)
    output = tmp_path / "tokenizer.json"
    files = (str(tmp_path / "a.txt"), str(tmp_path / "b.txt.gz"))
    assert run("tokenizer", *files, "--size", "307", "--output", str(output), monkeypatch=monkeypatch) == 0
    assert output.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("translate", "Ja.", "--model", "no-such-model"), "There is no model 'no-such-model'"),
        (("translate", "Ja.", "--beam", "0"), "beam_size must be a whole number from 1 to 64, but 0 was given"),
        (("translate", "Ja.", "--batch-tokens", "0"), "--batch-tokens is 0"),
        (("inspect", "Ja.", "--output", "maps.txt"), "must end in .npz, .csv, .json"),
        (("inspect", "Ja.", "--output", "no/such/folder/maps.npz"), "there is no folder"),
        (("inspect", "\u200b", "--output", "maps.npz"), "There is no text yet"),
        (("tokenizer", "no-such-file.txt", "--output", "x.json"), "there is no such file"),
    ],
)
def test_user_errors_are_one_line(
    folder: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    model = () if "--model" in arguments or arguments[0] == "tokenizer" else ("--model", folder)
    assert run(*arguments, *model, monkeypatch=monkeypatch) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_invalid_line_is_reported_and_others_are_translated(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("headlight.model.commands.translate.MIN_CHUNK", 3)
    lines = "Ja.\n\n\nJa.\n" + "🙂 " * 60 + "\nJa.\n"
    assert run("translate", "--model", folder, monkeypatch=monkeypatch, stdin=lines) == 1
    captured = capsys.readouterr()
    assert "Line 5 stays blank: text has " in captured.err
    answers = captured.out.splitlines()
    assert len(answers) == 6
    assert answers[0] == answers[3] == answers[5] != ""
    assert answers[4] == ""


def test_file_errors_name_the_path(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "maps.json").mkdir()
    (tmp_path / "words.gz").write_bytes(b"no gzip at all")
    for arguments in (
        ["inspect", "Ja.", "--model", folder, "--output", str(tmp_path / "maps.json")],
        ["tokenizer", str(tmp_path), "--output", str(tmp_path / "t.json")],
        ["tokenizer", str(tmp_path / "words.gz"), "--output", str(tmp_path / "t.json")],
    ):
        assert main(arguments) == 2
        assert str(tmp_path) in capsys.readouterr().err


def test_uppercase_suffix_is_kept(folder: str, tmp_path: Path) -> None:
    assert main(["inspect", "Ja.", "--model", folder, "--output", str(tmp_path / "maps.NPZ")]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["maps.NPZ"]


@pytest.mark.parametrize("option", ["--report-every", "--keep", "--cool-down", "--minutes", "--until"])
@pytest.mark.parametrize("value", ["0", "-5"])
def test_training_options_must_be_positive(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, option: str, value: str
) -> None:
    recipe = ["train", "assets/recipes/toy.json", "--data", "assets/corpora", "--run", str(tmp_path)]
    assert main([*recipe, f"{option}={value}"]) != 0
    assert f"{option} is {value}, but must be above 0" in capsys.readouterr().err


@pytest.mark.slow
def test_output_is_utf8_for_any_console_encoding() -> None:
    """As in a pipe on Windows, whose default encoding lacks most letters."""
    command = [sys.executable, "-m", "headlight", "translate", "--model", "en-de", "The girls are playing."]
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    process = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert process.returncode == 0, process.stderr.decode()
    assert "Mädchen" in process.stdout.decode("utf-8")


def printed_losses(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, float]:
    """The losses that `importance` prints, by part."""
    assert main(["importance", SENTENCE, "--max-length", "9", *arguments]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    return {line[1]: float(line[0]) for line in lines if len(line) == 2 and line[0][0] in "+-"}


def test_importance_prints_losses_sorted_by_size(
    folder: str, translator: Translator, capsys: pytest.CaptureFixture[str]
) -> None:
    losses = printed_losses(capsys, "--model", folder, "--device", "cpu", "--top", "0")
    config = translator.model.config
    layers = config.encoder_layers + 2 * config.decoder_layers
    assert len(losses) == 3 + layers * (1 + config.heads)
    assert list(losses.values()) == sorted(losses.values(), key=abs, reverse=True)
    answer = translator.translate(SENTENCE, max_length=9)
    ids = tuple(token.id for token in answer.target_tokens)
    off = {"action": "remove", "kind": "cross", "layer": 1, "head": 2}
    loss = answer.log_probability - translator.translate(SENTENCE, target=ids, interventions=[off]).log_probability
    assert losses["cross.1.2"] == pytest.approx(loss, abs=1e-3)
    top_losses = printed_losses(capsys, "--model", folder, "--device", "cpu", "--top", "4")
    assert list(top_losses) == list(losses)[:4]


def test_importance_prints_interactions_with_a_head(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    losses = printed_losses(capsys, "--model", folder, "--device", "cpu", "--top", "0")
    interactions = printed_losses(capsys, "--model", folder, "--device", "cpu", "--top", "0", "--with", "cross.1.2")
    assert interactions["cross.1.2"] == pytest.approx(-losses["cross.1.2"], abs=2e-3)
    assert set(interactions) == {name for name in losses if name.count(".") == 2}


@pytest.mark.parametrize("head", ["cross", "cross.1", "all.1.2", "cross.x.1", "cross.1.99"])
def test_importance_with_invalid_head_is_an_error(folder: str, capsys: pytest.CaptureFixture[str], head: str) -> None:
    assert main(["importance", SENTENCE, "--model", folder, "--device", "cpu", "--with", head]) == 2
    assert "headlight importance:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "tokenizer"), [("test.zh", "zh"), ("test.zh.gz", "zh"), ("test.en", "13a"), ("test", "13a")]
)
def test_evaluate_infers_target_language_from_file_name(
    name: str, tokenizer: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sacrebleu")
    source, target, scores = tmp_path / "source.de", tmp_path / name, tmp_path / "scores.json"
    source.write_text(f"{SENTENCE}\n", encoding="utf-8")
    reference = "我喝啤酒。\n".encode()
    target.write_bytes(gzip.compress(reference) if name.endswith("gz") else reference)
    arguments = ("--model", folder, "--source", str(source), "--target", str(target), "--json", str(scores))
    assert run("evaluate", *arguments, monkeypatch=monkeypatch) == 0
    assert f"tok:{tokenizer}|" in json.loads(scores.read_text(encoding="utf-8"))["bleu_signature"]


def test_effects_prints_estimated_and_measured_values(
    folder: str, translator: Translator, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = translator.translate(SENTENCE, max_length=9)
    words = [token.text.strip() for token in answer.target_tokens]
    options = ["--model", folder, "--device", "cpu", "--max-length", "9"]
    assert main(["effects", SENTENCE, *options, "--word", words[2], "--top", "4", "--json"]) == 0
    (word,) = json.loads(capsys.readouterr().out)["words"]
    place = words.index(words[2])
    assert (word["word"], word["place"]) == (words[2], place)
    (effects,) = word_effects(translator, answer, [place])
    sizes = [abs(head["predicted"]) for head in word["heads"]]
    assert len(sizes) == 4
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == pytest.approx(max(abs(effects.heads(kind)).max() for kind in KINDS), abs=1e-4)
    for head in word["heads"]:
        part = AttentionPart(head["kind"], head["layer"], head["head"])
        assert head["predicted"] == pytest.approx(effects.heads(part.kind)[part.layer, part.head], abs=1e-4)
        assert [head["measured"]] == pytest.approx(measured_effects(translator, answer, place, [(part,)]), abs=1e-4)
    assert main(["effects", SENTENCE, *options]) == 0
    printed = capsys.readouterr().out
    assert printed.count("mostly where") == len(words)
    rival = find_rival(translator.target_tokenizer, "ein", answer.target_tokens[place])
    assert main(["effects", SENTENCE, *options, "--word", words[2], "--rival", "ein", "--top", "1"]) == 0
    label = translator.target_tokenizer.label(rival).strip()
    assert f"(effects in nats, on the lead over “{label}”)" in capsys.readouterr().out


@pytest.mark.parametrize("language", ["en", "zh"])
def test_scan_prints_one_sentence_per_finding(
    folder: str, translator: Translator, capsys: pytest.CaptureFixture[str], language: str
) -> None:
    answer = translator.translate(SENTENCE, max_length=9)
    findings = scan(translator, answer)
    options = ["--model", folder, "--device", "cpu", "--max-length", "9", "--language", language]
    assert main(["scan", SENTENCE, *options]) == 0
    printed = "\n".join([answer.text, *(f"- {finding.sentence(language)}" for finding in findings)])
    assert capsys.readouterr().out == f"{printed}\n"
    assert main(["scan", SENTENCE, *options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "text": answer.text,
        "findings": [finding.values(language) for finding in findings],
    }


def test_patch_prints_shares_by_state_and_head(
    folder: str, translator: Translator, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = ["Ich trinke ein Bier.", "Ich trinke ein Tier."]
    pair = [translator.translate(text, max_length=9) for text in texts]
    options = ["--model", folder, "--device", "cpu", "--max-length", "9"]
    result = patching(translator, *pair)
    assert main(["patch", *texts, *options, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert np.array(values["states"]) == pytest.approx(result.states, abs=1e-4)
    assert (values["word"], values["place"]) == (result.word, result.position)
    assert main(["patch", *texts, *options]) == 0
    printed = capsys.readouterr().out
    assert f"leads “{result.other_word}” by {result.lead:+.2f}" in printed
    assert main(["patch", texts[0], "Ja.", *options]) == 2
    assert "Patching needs equally many" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--word", "not a token"], "is not a token here"),
        (["--rival", "x"], "--rival needs --word"),
        (["--top", "0"], "--top must be at least 1"),
    ],
)
def test_effects_with_invalid_options_is_an_error(
    folder: str, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert main(["effects", SENTENCE, "--model", folder, "--device", "cpu", *options]) == 2
    assert message in capsys.readouterr().err
