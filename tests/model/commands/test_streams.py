"""The command `headlight`: closed pipes, interrupts, usage errors."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headlight.model.commands.main import main
from headlight.model.commands.translate import MIN_CHUNK, join_lines
from tests.tiny import SENTENCES, tiny_translator

COMMAND = (sys.executable, "-m", "headlight")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    from headlight.model.checkpoints.checkpoint import save_checkpoint

    folder = tmp_path_factory.mktemp("model") / "tiny"
    tiny = tiny_translator()
    save_checkpoint(folder, tiny.model, tiny.source_tokenizer, tiny.target_tokenizer, storage="float32")
    return str(folder)


@contextmanager
def start_command(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    pipe: Any = subprocess.PIPE
    with subprocess.Popen([*COMMAND, *arguments], stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


def input_lines(count: int) -> bytes:
    return "".join(f"{SENTENCES[place % len(SENTENCES)]}\n" for place in range(count)).encode()


def test_translations_are_streamed_and_closed_pipe_ends_quietly(folder: str) -> None:
    with start_command("translate", "--model", folder, "--device", "cpu") as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(input_lines(3))
        process.stdin.flush()
        first = [process.stdout.readline() for _ in range(3)]  # while standard input stays open
        assert all(line.endswith(b"\n") for line in first)
        process.stdout.close()  # as `head -3` does
        process.stdin.write(input_lines(4 * MIN_CHUNK))
        process.stdin.close()
        assert process.wait() == 1
        assert b"Traceback" not in (errors := process.stderr.read())
        assert b"BrokenPipe" not in errors


@pytest.mark.slow
def test_interrupt_keeps_finished_translations(folder: str) -> None:
    with start_command("translate", "--model", folder, "--device", "cpu") as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(input_lines(MIN_CHUNK))
        process.stdin.flush()
        lines = [process.stdout.readline() for _ in range(MIN_CHUNK)]
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert len(lines) == MIN_CHUNK
        assert process.stderr.read().endswith(b"headlight translate: stopped.\n")


def test_interrupt_during_imports_prints_no_traceback(tmp_path: Path) -> None:
    """A fake module `torch` creates a file when its import begins, and never finishes."""
    marker = tmp_path / "loading"
    (tmp_path / "torch.py").write_text(
        f"import pathlib, time\npathlib.Path({str(marker)!r}).touch()\ntime.sleep(600)\n"
    )
    with subprocess.Popen(
        [*COMMAND, "translate", "Ja."],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        while not marker.exists():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate()
        assert (output, errors) == (b"", b"")
        assert process.returncode == -signal.SIGINT


def test_translations_keep_input_order_across_chunks(
    folder: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    text = input_lines(3 * MIN_CHUNK + 5) + b"\r\n" + SENTENCES[0].encode() + b"\r\nlast"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert main(["translate", "--model", folder, "--device", "cpu"]) == 0
    captured = capsys.readouterr()
    lines = captured.out.split("\n")[:-1]
    assert len(lines) == 3 * MIN_CHUNK + 8
    expected = [join_lines(text) for text in tiny_translator().translate_lines(SENTENCES)]
    assert lines[: 3 * MIN_CHUNK + 5] == [expected[place % len(expected)] for place in range(3 * MIN_CHUNK + 5)]
    assert lines[-3:-1] == ["", expected[0]]
    assert f"{3 * MIN_CHUNK + 7} lines, " in captured.err


def test_json_output_has_one_object_per_line(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--model", folder, "--device", "cpu", "--json"]
    assert main(["translate", SENTENCES[0], "", "🙂 " * 60, *options]) == 1
    captured = capsys.readouterr()
    first, blank, invalid = map(json.loads, captured.out.splitlines())
    answer = tiny_translator().translate(SENTENCES[0])
    assert (first["source"], first["text"]) == (SENTENCES[0], answer.text)
    assert "log_probability" not in first  # greedy search does not compute it
    assert (blank["text"], invalid["text"]) == ("", "")
    assert "error" not in blank
    assert invalid["error"].startswith("text has ")
    assert main(["translate", SENTENCES[0], *options, "--beam", "2"]) == 0
    best = tiny_translator().translate(SENTENCES[0], beam_size=2)
    assert json.loads(capsys.readouterr().out)["log_probability"] == pytest.approx(best.log_probability, abs=1e-3)
    assert main(["importance", SENTENCES[0], *options, "--top", "3"]) == 0
    importance = json.loads(capsys.readouterr().out)
    assert (importance["source"], importance["text"], importance["unit"]) == (SENTENCES[0], answer.text, "nats")
    assert [set(each) for each in importance["losses"]] == [{"kind", "layer", "head", "loss"}] * 3


def test_inspect_prints_the_fields_of_its_file_as_json(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "maps.npz"
    options = ["--model", folder, "--device", "cpu", "--json"]
    assert main(["inspect", SENTENCES[0], "--output", str(file), *options]) == 0
    captured = capsys.readouterr()
    values = json.loads(captured.out)
    answer = tiny_translator().translate(SENTENCES[0])
    assert (values["source"], values["text"], values["file"]) == (SENTENCES[0], answer.text, str(file))
    with np.load(file) as maps:
        assert values["shapes"] == {kind: list(maps[kind].shape) for kind in ("encoder", "decoder", "cross")}
        for name in ("source_tokens", "target_tokens"):
            assert values[name] == maps[name].tolist()
    assert main(["effects", SENTENCES[0], *options]) == 0
    effects = json.loads(capsys.readouterr().out)
    assert [word["place"] for word in effects["words"]] == list(range(len(answer.target_tokens)))


def test_documents_name_every_field_of_json() -> None:
    """The fields are those of the objects above: `docs/programs.md` lists them by command."""
    text = (Path(__file__).resolve().parents[3] / "docs" / "programs.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", text, flags=re.MULTILINE))
    fields = {
        "translate": "source text log_probability score back error",
        "inspect": "source text file shapes source_tokens target_tokens",
        "importance": "source text with unit losses measured kind layer head loss",
        "effects": "source text rival unit words word place heads",
    }
    for command, names in fields.items():
        assert set(re.findall(r"`(\w+)`", rows[command])) >= set(names.split()), command


def test_unknown_argument_prints_usage_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["translate", "Ja.", "--modle", "x"])
    errors = capsys.readouterr().err
    assert errors.startswith("usage: headlight translate ")
    assert "headlight translate: error: unrecognized arguments: --modle" in errors


@pytest.mark.parametrize("command", ["run", "serve"])
@pytest.mark.parametrize("port", ["99999", "0", "-1", "http", "1" * 30])
def test_invalid_port_is_reported_by_argument_name(port: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    from headlight import PAGE_COMMANDS

    with pytest.raises(SystemExit):
        main([command, f"--port={port}"], extra_commands=PAGE_COMMANDS)
    errors = capsys.readouterr().err
    assert "argument --port: " in errors
    assert "choose a whole number from 1 to 65535" in errors
    assert "HEADLIGHT_PORT" not in errors


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "HEADLIGHT_DEVICE",
            "gpu",
            "HEADLIGHT_DEVICE is 'gpu', but must be cuda, cuda:1 (or another number), mps or cpu.",
        ),
        ("HEADLIGHT_DTYPE", "int8", "HEADLIGHT_DTYPE is 'int8', but must be one of: float32, bfloat16, float16."),
    ],
)
def test_invalid_device_settings_end_with_one_line(name: str, value: str, message: str) -> None:
    process = subprocess.run(
        [*COMMAND, "run"], env=os.environ | {name: value}, capture_output=True, text=True, check=False
    )
    assert process.returncode == 1
    assert process.stderr.strip() == message
