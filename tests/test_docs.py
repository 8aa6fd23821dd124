"""Documents: their commands run, their links work, and every setting is in the table of settings."""

from __future__ import annotations

import argparse
import csv
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

import headlight
from headlight.model.commands import common, data
from headlight.model.errors import ModelError
from headlight.viz import run_command as run_command
from headlight.viz import serve_command
from headlight.viz.settings import SETTINGS, read_settings
from headlight.viz.static_site import page_content
from tests.hub_server import Repository, local_hub
from tests.model.families.classifier_folders import distilbert
from tests.model.families.folders import marian, nllb
from tests.space_server import Account, running_space_hub
from workshop.data.__main__ import main as workshop
from workshop.install import CPU_INDEX

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *ROOT.glob(".github/**/*.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:[A-Z_]+=\S+ )*(headlight|python|pip|make|docker|git) ")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


class Command(NamedTuple):
    """A parsed command line."""

    variables: dict[str, str]
    words: list[str]
    source: str | None  # < FILE
    target: str | None  # > FILE


def read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def parse_commands(text: str) -> Iterator[Command]:
    """Yield the commands of code blocks without a language or with `sh`."""
    for language, block in BLOCK.findall(text):
        for line in block.splitlines():
            if language in ("", "sh") and COMMAND.match(line):
                yield parse_command(line)


def parse_command(line: str) -> Command:
    words = shlex.split(line, comments=True)
    variables = {}
    while re.match(r"[A-Z_]+=", words[0]):
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    ends: dict[str, str | None] = {"<": None, ">": None}
    for sign in ends:
        if sign in words:
            place = words.index(sign)
            ends[sign] = words[place + 1]
            del words[place : place + 2]
    return Command(variables, words, ends["<"], ends[">"])


WITH_COMMANDS = [
    path.relative_to(ROOT).as_posix()
    for path in DOCUMENTS
    if path.name != "README.zh.md" and any(parse_commands(read_text(path)))
]


def test_commands_are_extracted_from_documents() -> None:
    assert {"README.md", "docs/models.md", "docs/training.md", "docs/deploying.md"} <= set(WITH_COMMANDS)
    assert sum(len(list(parse_commands(read_text(ROOT / path)))) for path in WITH_COMMANDS) > 25
    assert parse_command("A_B=1 headlight translate 'x y' < in > out  # comment") == (
        {"A_B": "1"}, ["headlight", "translate", "x y"], "in", "out",
    )  # fmt: skip


def test_chinese_readme_has_the_same_commands() -> None:
    english, chinese = (list(parse_commands(read_text(ROOT / name))) for name in ("README.md", "README.zh.md"))
    assert chinese == english


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all files that commands in documents name, and a local Hub."""
    folder = tmp_path / "workplace"
    folder.mkdir()
    for part in ("recipes", "corpora"):
        shutil.copytree(ROOT / "assets" / part, folder / "assets" / part)
    with (ROOT / "assets" / "corpora" / "mini.tsv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    for name, language, part in (
        ("sentences.txt", "de", rows[:3]), ("corpus.de", "de", rows), ("corpus.en", "en", rows),
        ("old.en", "en", rows[:50]), ("new.en", "en", rows[25:99]), ("test.de", "de", rows[:5]),
        ("test.en", "en", rows[:5]), ("a.de", "de", rows[:7]), ("b.de", "de", rows[7:14]), ("c.de", "zh", rows[:14]),
    ):  # fmt: skip
        (folder / name).write_text("".join(f"{row[language]}\n" for row in part), encoding="utf-8")
    (folder / "test.tsv").write_text("label\ttext\n1\tA warm film.\n0\tA dull film.\n", encoding="utf-8")
    models = {
        "Helsinki-NLP/opus-mt-de-en": marian(tmp_path / "opus"),
        "distilbert/distilbert-base-uncased-finetuned-sst-2-english": distilbert(tmp_path / "sst-2"),
    }
    with local_hub(monkeypatch, tmp_path / "home") as hub:
        for name, model_folder in models.items():
            hub.repositories[name] = Repository()
            hub.repositories[name].push({path.name: path.read_bytes() for path in model_folder.iterdir()})
        monkeypatch.chdir(folder)
        yield folder


# Training and the scores of whole files take nine CPU seconds.
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * name.endswith("training.md")) for name in WITH_COMMANDS]
)
def test_document_commands_run(name: str, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "models/nllb" in read_text(ROOT / name):
        nllb(workplace / "models" / "nllb")
    monkeypatch.setattr(common, "_confirm", lambda plan: True)
    monkeypatch.setattr(data, "download_dataset", lambda dataset, folder, report: None)
    # Results for every setting of the lessons take 14 CPU seconds per model; `tests/viz/static_site` has tests of them.
    monkeypatch.setattr(page_content, "experiment_results", lambda lessons, run, requests: {})
    for command in parse_commands(read_text(ROOT / name)):
        run_or_check(command, monkeypatch)


def run_or_check(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a command; if it would change this machine, check its words against the files that it refers to."""
    match command.words:
        case ["headlight", "serve", *words]:  # other tests start a cluster
            parser = argparse.ArgumentParser()
            serve_command.add(parser)
            assert serve_command.parse_replicas(parser.parse_args(words).replicas)
        case ["headlight", "space", *words]:  # uploads nothing
            assert headlight.main(["space", "--dry-run", *words]) == 0
        case ["headlight", "static", *words] if "--space" in words:
            with running_space_hub() as hub, monkeypatch.context() as patch:
                patch.setenv("HF_ENDPOINT", hub.address)
                patch.setenv("HF_TOKEN", "hf_user")
                hub.accounts["hf_user"] = Account("user")
                assert headlight.main(["static", *words]) == 0
                assert "sw.js" in hub.spaces["user/name"].files
        case ["headlight" | "python", *_] if "headlight" in command.words[:3]:
            run_headlight(command, monkeypatch)
        case ["python", "-m", "pip", "install", *words]:
            installable(words)
        case ["python", "-m", "pytest", *words]:
            assert all((ROOT / word.removeprefix("--ignore=")).exists() for word in words if "/" in word)
        case ["python", "-m", "http.server", *_]:
            pass  # Python's own
        case ["python", "-m", "workshop.data", *words]:
            with ExitStack() as stack:
                if command.target:
                    file = stack.enter_context(Path(command.target).open("w", encoding="utf-8"))
                    stack.enter_context(redirect_stdout(file))
                assert workshop(words) == 0
        case ["python", script]:
            assert (ROOT / script).is_file()
        case ["make", *words]:
            targets = re.findall(r"^([a-z-]+):", read_text(ROOT / "Makefile"), flags=re.MULTILINE)
            assert {word for word in words if "=" not in word} <= set(targets)
        case ["pip", "install", *words]:
            installable(words)
        case ["docker", *words]:
            dockerfile = read_text(ROOT / "Dockerfile")
            assert words[0] in ("build", "run")
            assert all(f"EXPOSE {word.partition(':')[2]}" in dockerfile for word in words if re.match(r"\d+:", word))
        case ["git", *_]:
            pass  # for the reader's own repository
        case _:
            raise AssertionError(f"unknown command: {command.words}")


def run_headlight(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    words = command.words[command.words.index("headlight") + 1 :]
    with ExitStack() as stack, monkeypatch.context() as patch:
        for variable, value in command.variables.items():
            patch.setenv(variable, value)
        # tests/test_installed.py serves the page; here only its settings are read.
        patch.setattr(run_command.runpy, "run_module", lambda *name, **more: read_settings())
        patch.setattr("sys.stdin", stack.enter_context(Path(command.source or "sentences.txt").open(encoding="utf-8")))
        if command.target:
            stack.enter_context(redirect_stdout(stack.enter_context(Path(command.target).open("w", encoding="utf-8"))))
        for name in ("HOST", "PORT"):  # `headlight run --port` sets them for the page
            patch.setenv(f"HEADLIGHT_{name}", "")
        assert headlight.main(words) == 0, command


def installable(words: list[str]) -> None:
    """Check arguments of `pip install`: this folder, its models, an existing list, the package, or an address."""
    extras = tomllib.loads(read_text(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]
    if words[:1] == ["-r"]:
        assert (ROOT / words[1]).is_file()
    elif words[0] == "torch":
        assert words[1:] == ["--index-url", CPU_INDEX]
    elif match := re.fullmatch(r"(?:\.|headlight-attention)(?:\[([\w,]+)\])?", words[0]):
        assert set((match[1] or "app").split(",")) <= set(extras)
        assert words[1:] == (["./assets"] if words[0].startswith(".[") else [])  # the models that `app` needs
    else:
        assert words[-1].startswith("git+")


def test_unknown_commands_are_detected(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for line in ("headlight sing", "make coffee", "pip install '.[tea]'", "python none.py", "docker brew ."):
        with pytest.raises((AssertionError, SystemExit, ModelError)):
            run_or_check(parse_command(line), monkeypatch)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_point_to_existing_files_and_headings(path: Path) -> None:
    for link in LINK.findall(read_text(path)):
        place, _, heading = link.partition("#")
        if re.match(r"https?:|mailto:", link):
            continue
        target = (path.parent / place).resolve() if place else path
        assert target.exists(), f"{path.name}: {link}"
        if heading:
            assert heading in {anchor(title) for title in re.findall(r"^#+ (.*)$", read_text(target), re.MULTILINE)}, (
                link
            )


def anchor(title: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def test_readme_links_to_every_document_once() -> None:
    links = LINK.findall(read_text(ROOT / "README.md"))
    for path in sorted((ROOT / "docs").glob("*.md")):
        assert links.count(path.relative_to(ROOT).as_posix()) == 1, path.name


def test_every_setting_is_in_settings_table() -> None:
    table = read_text(ROOT / "docs" / "deploying.md").partition("## Settings")[2]
    files = [ROOT / "app.py", *(path for folder in ("model", "viz") for path in (ROOT / folder).rglob("*.py"))]
    used = {name for path in files for name in re.findall(r"HEADLIGHT_[A-Z_]*[A-Z]", read_text(path))}
    assert used - set(re.findall(r"HEADLIGHT_[A-Z_]+", table)) == set()
    for setting in SETTINGS:
        assert f"| `{setting.name}` | {setting.meaning} | {setting.default} |" in table
