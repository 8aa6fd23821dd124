"""Headlight where it is installed: built, put into an empty environment, used far from the checkout."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import httpx
import pytest
from packaging.metadata import Metadata

import headlight
from tests.installed import ROOT, Environment, answers, build, quiet, served_at
from tests.space_server import running_space_hub
from tests.test_packages import plain, wanted

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
STATION = "Where is the station?"  # greedy, as programs get it
FLOORS = ("model/", "viz/", "assets/")


def metadata_of(archive: Path) -> Metadata:
    """What a wheel or a source archive says of itself; `packaging` refuses what PyPI refuses."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as files:
            (name,) = (each for each in files.namelist() if each.endswith(".dist-info/METADATA"))
            return Metadata.from_email(files.read(name))
    with tarfile.open(archive) as files:
        (member,) = (each for each in files.getmembers() if each.name.endswith("/PKG-INFO"))
        content = files.extractfile(member)
        assert content
        return Metadata.from_email(content.read())


def tracked() -> set[str]:
    """Every file of the repository that ships, and such as were made since."""
    listed = quiet(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], ROOT).split("\0")
    return {path for path in listed if path.startswith(FLOORS) and (ROOT / path).is_file()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made = Environment(tmp_path_factory.mktemp("environment") / "empty")
    made.install(wheel)
    return made


def test_the_wheel_carries_all_that_ships_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
        notes = {Path(name).name for name in archive.namelist() if ".dist-info/" in name}
    moved = "model/commands/__main__.py"  # it is the package's own there
    added = {"headlight/__init__.py", "headlight/__main__.py", "headlight/app.py"}
    assert inside == {f"headlight/{path}" for path in tracked() - {moved}} | added
    assert {"LICENSE", "LICENSES.md", "METADATA", "entry_points.txt"} <= notes


def test_its_page_on_pypi_shows_no_front_matter_and_nothing_broken(wheel: Path) -> None:
    about = metadata_of(wheel)
    assert (about.name, str(about.version)) == ("headlight-attention", headlight.__version__)
    assert about.author == "The Headlight maintainers"
    text = about.description or ""
    assert text.startswith("# Headlight\n")
    assert about.description_content_type == "text/markdown"
    for telling in ("sdk: gradio", "pip install .", "in this folder", "make run", "<!--", "| | |", "docs/images"):
        assert telling not in text
    assert "pip install headlight-attention" in text
    assert [link for link in re.findall(r"\]\(([^)]*)\)", text) if not link.startswith("https://")] == []
    assert not about.project_urls  # CITATION.cff names no address of the repository, and none is invented
    assert wheel.stat().st_size < 95_000_000  # PyPI takes 100 MB


def test_its_page_on_pypi_leads_to_the_repository_where_one_is_named(tmp_path: Path) -> None:
    for name in ("headlight.py", "hatch_build.py", "pyproject.toml", "README.md", "LICENSE", "LICENSES.md"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    for name in (
        "app.py",
        "requirements.txt",
        "model/commands/__main__.py",
        "viz/figure_phrases.py",
        "assets/first.json",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    (tmp_path / "CITATION.cff").write_text(
        f'{citation}repository-code: "https://example.org/ada/headlight"\n', encoding="utf-8"
    )
    for form in ("wheel", "sdist"):
        about = metadata_of(build(tmp_path / "built", form, root=tmp_path))
        home = "https://example.org/ada/headlight"
        version = f"v{headlight.__version__}"
        assert about.project_urls == {
            "Repository": home, "Changes": f"{home}/blob/{version}/CHANGELOG.md", "Issues": f"{home}/issues"
        }  # fmt: skip
        text = about.description or ""
        assert f"]({home}/raw/{version}/docs/images/hero.webp)" in text
        assert f"[Architecture]({home}/blob/{version}/docs/architecture.md)" in text
        assert [link for link in re.findall(r"\]\(([^)]*)\)", text) if not link.startswith("https://")] == []


@pytest.mark.slow
def test_a_model_that_a_user_puts_beside_ours_stays_out(tmp_path: Path) -> None:
    mine = ROOT / "assets" / "models" / f"mine-{tmp_path.parent.name}-{tmp_path.name}"
    mine.mkdir()
    try:
        (mine / "config.json").write_text("{}", encoding="utf-8")
        with zipfile.ZipFile(build(tmp_path)) as archive:
            assert not [name for name in archive.namelist() if mine.name in name]
        with tarfile.open(build(tmp_path, "sdist")) as archive:
            assert not [name for name in archive.getnames() if mine.name in name]
    finally:
        (mine / "config.json").unlink()
        mine.rmdir()


@pytest.mark.slow
def test_the_same_wheel_comes_of_the_source_archive(wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(build(tmp_path, "sdist")) as archive:
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # not in Debian 12's Python 3.11.2
        archive.extractall(tmp_path, **safely)  # noqa: S202 - our own archive
    (source,) = (path for path in tmp_path.iterdir() if path.is_dir())
    again = build(tmp_path / "again", root=source)
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(again) as second:
        assert {each.filename: each.CRC for each in first.infolist()} == {
            each.filename: each.CRC for each in second.infolist()
        }


def test_its_packages_are_those_of_requirements_txt() -> None:
    ranges = {plain(re.split(r"[<>=\[]", line)[0]): line for line in PROJECT["dependencies"]}
    assert set(ranges) == set(wanted())
    for name, pinned in wanted().items():
        lowest = re.search(r">=([\d.]+)", ranges[name])
        assert lowest, name
        assert (pinned + ".").startswith(lowest[1] + "."), f"{name}: the pin is {pinned}, the range {ranges[name]}"


def test_what_training_needs_is_what_requirements_train_txt_says() -> None:
    lines = (ROOT / "requirements-train.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if "==" in line)
    ranges = dict(line.split(">=") for line in PROJECT["optional-dependencies"]["train"])
    assert pins
    assert set(pins) == set(ranges)
    assert all((pins[name] + ".").startswith(ranges[name] + ".") for name in pins)


def test_it_is_imported_from_where_it_is_installed(environment: Environment) -> None:
    code = "import headlight, headlight.viz.page, headlight.viz.settings as s; print(headlight.__file__, s.MODELS)"
    package, models = environment.run("python", "-c", code).split()
    assert Path(package).is_relative_to(environment.folder)
    assert Path(models).is_relative_to(environment.folder)
    code = "import sys, headlight; print(headlight.__version__, {'model', 'viz', 'app'} & set(sys.modules))"
    assert environment.run("python", "-c", code).split() == [headlight.__version__, "set()"]


@pytest.mark.parametrize("command", [("headlight",), ("python", "-m", "headlight")])
def test_the_command_says_its_version(environment: Environment, command: tuple[str, ...]) -> None:
    assert environment.run(*command, "--version").strip() == f"headlight {headlight.__version__}"


def test_the_command_translates(environment: Environment) -> None:
    assert environment.run("headlight", "translate", "Ich trinke ein Bier.", "--beam", "4").strip() == "I drink a beer."


def test_every_command_can_be_asked_for_its_help(environment: Environment) -> None:
    code = """
import contextlib, io, headlight
from headlight.model.commands.main import COMMANDS
for name in ("run", *COMMANDS):
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
        headlight.main([name, "--help"])
    assert said.getvalue().startswith(f"usage: headlight {name}"), said.getvalue()
print(len(COMMANDS) + 1)
"""
    assert int(environment.run("python", "-c", code)) >= 11


def test_it_translates_and_draws_from_python(environment: Environment) -> None:
    code = """
import json
from headlight import Judge, Translator
from headlight.model.commands.common import MODELS
from headlight.viz.figures.heatmap import heatmap
from headlight.viz.theme import THEMES
translator = Translator.load(MODELS / "de-en", device="cpu")
result = translator.translate("Ich trinke ein Bier.", beam_size=4)
figure = heatmap(result.attention_map("cross", 0, 3), theme=THEMES["light"])
judgement = Judge.load(MODELS / "sentiment", device="cpu").judge("A quiet film with a warm heart.")
print(json.dumps([result.text, type(figure).__name__, judgement.verdict]))
"""
    assert json.loads(environment.run("python", "-c", code)) == ["I drink a beer.", "Figure", "positive"]


def test_headlight_run_serves_the_page_with_all_its_parts(environment: Environment) -> None:
    with served_at(environment, "headlight", "run") as url:
        page = httpx.get(url, timeout=30).text
        assert headlight.__version__ in page
        files = dict(re.findall(r"(gradio_api/headlight/\w{12}/([\w.]+\.js))\"", page))
        assert set(files.values()) >= {"headlight.js"}
        for place in files:
            assert httpx.get(url + place, timeout=30).status_code == 200, place
        assert answers(url)["text"] == STATION


@pytest.mark.slow
def test_a_clone_is_installed_by_its_address(tmp_path: Path) -> None:
    here = Environment(tmp_path / "empty")
    here.install(f"git+{ROOT.as_uri()}")
    assert here.run("headlight", "translate", "Ich trinke ein Bier.", "--beam", "4").strip() == "I drink a beer."


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `headlight space` sends, as the Hub has it then, and nothing else: nothing of ours is installed."""
    folder = tmp_path_factory.mktemp("space") / "app"
    with running_space_hub() as hub:
        more = {"HF_ENDPOINT": hub.address, "HF_TOKEN": "hf_ada", "HF_HUB_DISABLE_XET": "1"}
        quiet([sys.executable, "-m", "headlight", "space", "ada/headlight"], ROOT, **more)
        for path in hub.spaces["ada/headlight"].files:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(hub.content("ada/headlight", path))
    return folder


def test_the_hub_gets_the_files_as_they_are(space: Path) -> None:
    sent = {path.relative_to(space).as_posix() for path in space.rglob("*") if path.is_file()} - {".gitattributes"}
    assert {"app.py", "README.md", "viz/page.py", "assets/models/de-en/config.json"} <= sent
    assert [path for path in sent if (space / path).read_bytes() != (ROOT / path).read_bytes()] == []
    assert not {path.split("/")[0] for path in sent} & {"tests", "workshop", "typings", ".github"}


def test_a_space_serves_its_page(space: Path) -> None:
    with served_at(space, "python", "app.py") as url:
        assert answers(url)["text"] == STATION


def test_a_port_that_is_taken_or_a_wrong_setting_is_said_in_a_line(environment: Environment) -> None:
    ran = subprocess.run(
        [environment.command("headlight"), "run", "--port", "99999999"],
        cwd=environment.folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode != 0
    assert "--port: '99999999' is no port" in ran.stderr
    assert "Traceback" not in ran.stderr


SPACES = """
import os, sys
assert "torch" not in sys.modules, "CUDA may be initialised already"  # the real package refuses to go on
decorated = []


def GPU(task=None, *, duration=None, size=None):
    def lend(task):
        if os.environ.get("SPACES_ZERO_GPU", "").lower() not in ("1", "t", "true"):
            return task
        def on_gpu(*given):
            return task(*given)
        decorated.append((task.__name__, duration))
        return on_gpu
    return lend if task is None else lend(task)
"""


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(("zero_gpu", "decorated"), [("true", [["compute", 15]]), ("", [])])
def test_on_zerogpu_the_package_spaces_comes_first_and_finds_the_function(
    space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zero_gpu: str, decorated: list[list[object]]
) -> None:
    (tmp_path / "spaces.py").write_text(SPACES, encoding="utf-8")
    monkeypatch.setenv("SPACES_ZERO_GPU", zero_gpu)
    code = (
        f"import sys; sys.path.append({str(tmp_path)!r}); import app, headlight, json, spaces; "
        "print(json.dumps([spaces.decorated, headlight.__file__]))"
    )
    lent, where = json.loads(quiet([sys.executable, "-c", code], space))
    assert lent == decorated
    assert Path(where).parent == space.resolve()  # the package of the Space, not one that is installed
