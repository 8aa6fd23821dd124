"""The command `headlight`: closed pipes, interrupts, usage errors."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
def started(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    pipe: Any = subprocess.PIPE
    with subprocess.Popen([*COMMAND, *arguments], stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


def lines_of(count: int) -> bytes:
    return "".join(f"{SENTENCES[place % len(SENTENCES)]}\n" for place in range(count)).encode()


def test_lines_come_as_they_are_ready_and_a_closed_pipe_ends_it_quietly(folder: str) -> None:
    with started("translate", "--model", folder, "--device", "cpu") as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(lines_of(3))
        process.stdin.flush()
        first = [process.stdout.readline() for _ in range(3)]  # while standard input stays open
        assert all(line.endswith(b"\n") for line in first)
        process.stdout.close()  # as `head -3` does
        process.stdin.write(lines_of(4 * MIN_CHUNK))
        process.stdin.close()
        assert process.wait() == 1
        assert b"Traceback" not in (said := process.stderr.read())
        assert b"BrokenPipe" not in said


def test_what_is_done_is_written_when_it_is_interrupted(folder: str) -> None:
    with started("translate", "--model", folder, "--device", "cpu") as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(lines_of(MIN_CHUNK))
        process.stdin.flush()
        written = [process.stdout.readline() for _ in range(MIN_CHUNK)]
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert len(written) == MIN_CHUNK
        assert process.stderr.read().endswith(b"headlight translate: stopped.\n")


def test_an_interruption_while_modules_load_leaves_no_traceback(tmp_path: Path) -> None:
    """The module `torch` here takes for ever to load, and says when it begins."""
    begun = tmp_path / "begun"
    (tmp_path / "torch.py").write_text(f"import pathlib, time\npathlib.Path({str(begun)!r}).touch()\ntime.sleep(600)\n")
    with subprocess.Popen(
        [*COMMAND, "translate", "Ja."],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        while not begun.exists():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, said = process.communicate()
        assert (out, said) == (b"", b"")
        assert process.returncode == -signal.SIGINT


def test_translations_keep_the_order_of_lines_in_growing_groups(
    folder: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    text = lines_of(3 * MIN_CHUNK + 5) + b"\r\n" + SENTENCES[0].encode() + b"\r\nlast"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert main(["translate", "--model", folder, "--device", "cpu"]) == 0
    captured = capsys.readouterr()
    lines = captured.out.split("\n")[:-1]
    assert len(lines) == 3 * MIN_CHUNK + 8
    expected = [join_lines(text) for text in tiny_translator().translate_lines(SENTENCES)]
    assert lines[: 3 * MIN_CHUNK + 5] == [expected[place % len(expected)] for place in range(3 * MIN_CHUNK + 5)]
    assert lines[-3:-1] == ["", expected[0]]
    assert f"{3 * MIN_CHUNK + 7} lines, " in captured.err


def test_json_has_one_object_a_line(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = ["--model", folder, "--device", "cpu", "--json"]
    assert main(["translate", SENTENCES[0], "", "🙂 " * 60, *told]) == 1
    captured = capsys.readouterr()
    first, blank, refused = map(json.loads, captured.out.splitlines())
    answer = tiny_translator().translate(SENTENCES[0])
    assert (first["source"], first["text"]) == (SENTENCES[0], answer.text)
    assert "log_probability" not in first  # greedy search takes the likeliest word, and adds nothing up
    assert (blank["text"], refused["text"]) == ("", "")
    assert "error" not in blank
    assert refused["error"].startswith("text has ")
    assert main(["translate", SENTENCES[0], *told, "--beam", "2"]) == 0
    best = tiny_translator().translate(SENTENCES[0], beam_size=2)
    assert json.loads(capsys.readouterr().out)["log_probability"] == pytest.approx(best.log_probability, abs=1e-3)
    assert main(["importance", SENTENCES[0], *told, "--top", "3"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["source"], found["text"], found["unit"]) == (SENTENCES[0], answer.text, "nats")
    assert [set(each) for each in found["losses"]] == [{"kind", "layer", "head", "loss"}] * 3


def test_a_slip_is_told_with_the_usage_of_its_own_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["translate", "Ja.", "--modle", "x"])
    said = capsys.readouterr().err
    assert said.startswith("usage: headlight translate ")
    assert "headlight translate: error: unrecognized arguments: --modle" in said


@pytest.mark.parametrize("port", ["99999", "0", "-1", "http", "1" * 30])
def test_a_port_that_is_none_is_told_by_the_name_of_its_argument(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    from headlight import PAGE_COMMANDS

    with pytest.raises(SystemExit):
        main(["run", f"--port={port}"], more=PAGE_COMMANDS)
    said = capsys.readouterr().err
    assert "argument --port: " in said
    assert "choose a whole number from 1 to 65535" in said
    assert "HEADLIGHT_PORT" not in said


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        (
            "HEADLIGHT_DEVICE",
            "gpu",
            "HEADLIGHT_DEVICE is 'gpu', but must be cuda, cuda:1 (or another number), mps or cpu.",
        ),
        ("HEADLIGHT_DTYPE", "int8", "HEADLIGHT_DTYPE is 'int8', but must be one of: float32, bfloat16, float16."),
    ],
)
def test_a_device_that_does_not_exist_ends_the_start_in_one_line(name: str, value: str, says: str) -> None:
    ran = subprocess.run([*COMMAND, "run"], env=os.environ | {name: value}, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr.strip() == says
