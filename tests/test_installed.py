"""Headlight as an installed package, used outside the checkout, and as a Space."""

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
from tests.installed import MODELS_ROOT, ROOT, Environment, answers, build, quiet, served_at
from tests.space_server import running_space_hub
from tests.test_packages import plain, wanted

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
MODELS = "headlight-attention-models"
STATION = "Where is the station?"  # the greedy translation, the API's default
FLOORS = ("model/", "viz/", "assets/")


def read_metadata(archive: Path) -> Metadata:
    """The metadata of a wheel or source archive; `packaging` rejects what PyPI rejects."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as files:
            (name,) = (each for each in files.namelist() if each.endswith(".dist-info/METADATA"))
            return Metadata.from_email(files.read(name))
    with tarfile.open(archive) as files:
        (member,) = (each for each in files.getmembers() if each.name.endswith("/PKG-INFO"))
        content = files.extractfile(member)
        assert content
        return Metadata.from_email(content.read())


def shipped_files() -> set[str]:
    """Files of the repository that are part of one of the wheels, including new ones."""
    listed = quiet(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], ROOT).split("\0")
    return {path for path in listed if path.startswith(FLOORS) and (ROOT / path).is_file()} - {"assets/pyproject.toml"}


def model_files() -> set[str]:
    """Trained models and training texts, which are in the second wheel."""
    listed = {path for path in shipped_files() if path.startswith(("assets/models/", "assets/corpora/"))}
    return listed - {"assets/models/hub.json"}


def packaged_files(wheel: Path) -> tuple[set[str], set[str]]:
    """The files of a wheel, and the names of its notes."""
    with zipfile.ZipFile(wheel) as archive:
        notes = {name for name in archive.namelist() if ".dist-info/" in name}
        return set(archive.namelist()) - notes, {name.partition(".dist-info/")[2] for name in notes}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def models_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("built"), root=MODELS_ROOT)


@pytest.fixture(scope="module")
def environment(wheel: Path, models_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    environment = Environment(tmp_path_factory.mktemp("environment") / "empty")
    environment.install(wheel)
    environment.install(models_wheel)
    return environment


def test_wheel_contains_exactly_shipped_files(wheel: Path) -> None:
    packaged, notes = packaged_files(wheel)
    moved = {"model/commands/__main__.py", "viz/public/bertviz.py", "viz/public/errors.py"}  # to headlight/
    added = {f"headlight/{name}.py" for name in ("__init__", "__main__", "app", "bertviz", "errors")}
    assert packaged == {f"headlight/{path}" for path in shipped_files() - model_files() - moved} | added
    assert {"licenses/LICENSE", "licenses/LICENSES.md", "METADATA", "entry_points.txt"} <= notes
    assert wheel.stat().st_size <= 5_000_000


def test_models_wheel_contains_exactly_models_and_corpora(models_wheel: Path) -> None:
    packaged, notes = packaged_files(models_wheel)
    assert packaged == {f"headlight/{path}" for path in model_files()} | {"headlight/assets/models/LICENSES.md"}
    assert "entry_points.txt" not in notes
    assert {"licenses/models/de-en/README.md", "licenses/corpora/README.md"} <= notes
    assert models_wheel.stat().st_size < 95_000_000  # PyPI takes 100 MB


def test_models_have_the_version_and_authors_of_the_package(wheel: Path, models_wheel: Path) -> None:
    package, models = read_metadata(wheel), read_metadata(models_wheel)
    assert (models.name, models.version, models.author) == (MODELS, package.version, package.author)
    assert (package.license_expression, models.license_expression) == (
        "Apache-2.0", "CC0-1.0 AND LicenseRef-Non-Commercial-Weights",
    )  # fmt: skip
    assert f"{MODELS}=={package.version}" in EXTRAS["app"]
    assert (models.requires_python, models.requires_dist) == (package.requires_python, None)


def test_pypi_description_has_no_front_matter_or_broken_links(wheel: Path) -> None:
    about = read_metadata(wheel)
    assert (about.name, str(about.version)) == ("headlight-attention", headlight.__version__)
    assert about.author == "The Headlight maintainers"
    text = about.description or ""
    assert text.startswith("# Headlight\n\nType a sentence")
    assert about.description_content_type == "text/markdown"
    for fragment in ("sdk: gradio", "pip install .", "in this folder", "make run", "<!--", "| | |", "docs/images"):
        assert fragment not in text
    assert "pip install headlight-attention`" in text
    assert 'pip install "headlight-attention[app]"\n' in text
    assert "./assets" not in text
    assert [link for link in re.findall(r"\]\(([^)]*)\)", text) if not link.startswith("https://")] == []
    assert not about.project_urls  # CITATION.cff has no address of the repository


def test_pypi_links_use_repository_address(tmp_path: Path) -> None:
    for name in ("headlight.py", "hatch_build.py", "pyproject.toml", "README.md", "LICENSE", "LICENSES.md"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    for name in (
        "app.py",
        "viz/public/bertviz.py",
        "viz/public/errors.py",
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
        about = read_metadata(build(tmp_path / "built", form, root=tmp_path))
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
def test_user_models_are_not_packaged(tmp_path: Path) -> None:
    user_model = ROOT / "assets" / "models" / f"mine-{tmp_path.parent.name}-{tmp_path.name}"
    user_model.mkdir()
    try:
        (user_model / "config.json").write_text("{}", encoding="utf-8")
        for root in (ROOT, MODELS_ROOT):
            with zipfile.ZipFile(build(tmp_path, root=root)) as archive:
                assert not [name for name in archive.namelist() if user_model.name in name]
        with tarfile.open(build(tmp_path, "sdist")) as archive:
            assert not [name for name in archive.getnames() if user_model.name in name]
    finally:
        (user_model / "config.json").unlink()
        user_model.rmdir()


@pytest.mark.slow
def test_source_archive_builds_identical_wheel(wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(build(tmp_path, "sdist")) as archive:
        options = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # not in Debian 12's Python 3.11.2
        archive.extractall(tmp_path, **options)  # noqa: S202 - our own archive
    (source,) = (path for path in tmp_path.iterdir() if path.is_dir())
    again = build(tmp_path / "again", root=source)
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(again) as second:
        assert {each.filename: each.CRC for each in first.infolist()} == {
            each.filename: each.CRC for each in second.infolist()
        }


def test_dependencies_match_requirements_txt() -> None:
    ranges = {plain(re.split(r"[<>=\[]", line)[0]): line for line in EXTRAS["app"]}
    assert set(ranges) - {MODELS} == set(wanted())
    for name, pinned in wanted().items():
        lowest = re.search(r">=([\d.]+)", ranges[name])
        assert lowest, name
        assert (pinned + ".").startswith(lowest[1] + "."), f"{name}: the pin is {pinned}, the range {ranges[name]}"


def test_train_extra_matches_requirements_train_txt() -> None:
    lines = (ROOT / "requirements-train.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if "==" in line)
    ranges = dict(line.split(">=") for line in EXTRAS["train"])
    assert pins
    assert set(pins) == set(ranges)
    assert all((pins[name] + ".").startswith(ranges[name] + ".") for name in pins)


def test_editable_installation_runs_the_checkout(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "empty")
    environment.install(build(tmp_path, "editable"))
    code = "import headlight as h, headlight.bertviz as b, headlight.viz.theme as t\n"
    code += "print(h.__file__, b.__file__, t.__file__)"
    assert [Path(path) for path in environment.run("python", "-c", code).split()] == [
        ROOT / "headlight.py", ROOT / "viz" / "public" / "bertviz.py", ROOT / "viz" / "theme.py",
    ]  # fmt: skip
    assert environment.run("headlight", "--version").strip() == f"headlight {headlight.__version__}"


@pytest.mark.slow
def test_package_is_imported_from_environment(environment: Environment) -> None:
    code = "import headlight, headlight.viz.page, headlight.viz.settings as s; print(headlight.__file__, s.MODELS)"
    package, models = environment.run("python", "-c", code).split()
    assert Path(package).is_relative_to(environment.folder)
    assert Path(models).is_relative_to(environment.folder)
    code = "import sys, headlight; print(headlight.__version__, {'model', 'viz', 'app'} & set(sys.modules))"
    assert environment.run("python", "-c", code).split() == [headlight.__version__, "set()"]


@pytest.mark.parametrize("command", [("headlight",), ("python", "-m", "headlight")])
def test_command_prints_version(environment: Environment, command: tuple[str, ...]) -> None:
    assert environment.run(*command, "--version").strip() == f"headlight {headlight.__version__}"


def test_installed_command_translates(environment: Environment) -> None:
    assert environment.run("headlight", "translate", "Ich trinke ein Bier.", "--beam", "4").strip() == "I drink a beer."


def test_every_command_has_help(environment: Environment) -> None:
    code = """
import contextlib, io, headlight
from headlight.model.commands.main import COMMANDS
for name in ("run", *COMMANDS):
    with contextlib.redirect_stdout(io.StringIO()) as output, contextlib.suppress(SystemExit):
        headlight.main([name, "--help"])
    assert output.getvalue().startswith(f"usage: headlight {name}"), output.getvalue()
print(len(COMMANDS) + 1)
"""
    assert int(environment.run("python", "-c", code)) >= 11


def test_python_api_translates_and_draws(environment: Environment) -> None:
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


def test_headlight_run_serves_page_and_scripts(environment: Environment) -> None:
    with served_at(environment, "headlight", "run") as url:
        page = httpx.get(url, timeout=30).text
        assert headlight.__version__ in page
        files = dict(re.findall(r"(gradio_api/headlight/\w{12}/([\w.]+\.js))\"", page))
        assert set(files.values()) >= {"headlight.js"}
        for place in files:
            assert httpx.get(url + place, timeout=30).status_code == 200, place
        assert answers(url)["text"] == STATION


@pytest.mark.slow
def test_package_installs_from_git_address(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "empty")
    environment.install(f"git+{ROOT.as_uri()}")
    environment.install(f"git+{ROOT.as_uri()}#subdirectory=assets")
    assert environment.run("headlight", "translate", "Ich trinke ein Bier.", "--beam", "4").strip() == "I drink a beer."


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with exactly the files that `headlight space` uploads to the Hub."""
    folder = tmp_path_factory.mktemp("space") / "app"
    with running_space_hub() as hub:
        more = {"HF_ENDPOINT": hub.address, "HF_TOKEN": "hf_ada", "HF_HUB_DISABLE_XET": "1"}
        quiet([sys.executable, "-m", "headlight", "space", "ada/headlight"], ROOT, **more)
        for path in hub.spaces["ada/headlight"].files:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(hub.content("ada/headlight", path))
    return folder


def test_uploaded_files_are_unchanged(space: Path) -> None:
    uploaded = {path.relative_to(space).as_posix() for path in space.rglob("*") if path.is_file()} - {".gitattributes"}
    assert {"app.py", "README.md", "viz/page.py", "assets/models/de-en/config.json"} <= uploaded
    assert [path for path in uploaded if (space / path).read_bytes() != (ROOT / path).read_bytes()] == []
    assert not {path.split("/")[0] for path in uploaded} & {"tests", "workshop", "typings", ".github"}


def test_space_serves_page(space: Path) -> None:
    with served_at(space, "python", "app.py") as url:
        assert answers(url)["text"] == STATION


def test_invalid_port_is_reported_in_one_line(environment: Environment) -> None:
    process = subprocess.run(
        [environment.command("headlight"), "run", "--port", "99999999"],
        cwd=environment.folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert process.returncode != 0
    assert "--port: '99999999' is not a port" in process.stderr
    assert "Traceback" not in process.stderr


SPACES = """
import os, sys
assert "torch" not in sys.modules, "CUDA may be initialised already"  # the real package raises, too
decorated = []


def GPU(task=None, *, duration=None, size=None):
    def decorate(task):
        if os.environ.get("SPACES_ZERO_GPU", "").lower() not in ("1", "t", "true"):
            return task
        def on_gpu(*args):
            return task(*args)
        decorated.append((task.__name__, duration))
        return on_gpu
    return decorate if task is None else decorate(task)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("zero_gpu", "decorated"), [("true", [["compute", 15]]), ("", [])])
def test_spaces_is_imported_first_and_decorates_function(
    space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zero_gpu: str, decorated: list[list[object]]
) -> None:
    (tmp_path / "spaces.py").write_text(SPACES, encoding="utf-8")
    monkeypatch.setenv("SPACES_ZERO_GPU", zero_gpu)
    code = (
        f"import sys; sys.path.append({str(tmp_path)!r}); import app, headlight, json, spaces; "
        "print(json.dumps([spaces.decorated, headlight.__file__]))"
    )
    functions, package = json.loads(quiet([sys.executable, "-c", code], space))
    assert functions == decorated
    assert Path(package).parent == space.resolve()  # the package of the Space, not one that is installed
