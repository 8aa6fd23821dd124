"""The folder that `headlight static` writes."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from headlight import __version__, main
from headlight.model.errors import CommandError
from headlight.model.translate.reliability import RELIABILITY_FILE, FittedRule, ReliabilityWeights
from headlight.model.translate.reranking import REVERSE_WEIGHT
from headlight.viz.browser_files.static_files import HEALTH_FILE, LESSONS, LESSONS_STYLE, MODULES, PLOTLY, WIDGETS
from headlight.viz.service.messages import ANSWER_VERSION
from headlight.viz.settings import MODELS, Settings
from headlight.viz.static_site.engine_tables import engine_tables
from headlight.viz.static_site.files import (
    INDEX,
    STYLE,
    check_folder,
    engine_script,
    file_path,
    page_file,
    site_files,
    write_files,
)
from headlight.viz.static_site.page_content import ENGINE_CALLS, PANELS, PageContent, choose_models, read_page
from headlight.viz.tabs import TABS

MAX_MODEL_BYTES = 13_000_000
MAX_FIRST_BYTES = 450_000  # until the first map; 0.36 s of a line with 10 Mbit/s
MAX_SHARED_BYTES = 15_000_000  # of all files besides the models


@pytest.fixture(scope="module")
def page() -> PageContent:
    return read_page(Settings(), ("toy",))


@pytest.fixture(scope="module")
def files(page: PageContent) -> Mapping[str, bytes]:
    return site_files(page)


def site(files: Mapping[str, bytes]) -> Any:
    """The data of the page's script."""
    match = re.search(r"<script>globalThis\.headlightSite = (.*);</script>", files["index.html"].decode())
    assert match
    return json.loads(match[1])


def start(files: Mapping[str, bytes]) -> Any:
    """The data of the first script."""
    match = re.search(r"<script[^>]*>globalThis\.headlightStart = (.*);\n", files["index.html"].decode())
    assert match
    return json.loads(match[1])


def test_index_refers_to_files_of_the_folder_alone(files: Mapping[str, bytes]) -> None:
    data, html = site(files), files["index.html"].decode()
    links = re.findall(r'(?:href|src)="([^"]+)"', html)
    assert links
    assert set(links) <= files.keys()
    assert set(start(files)["files"].values()) <= files.keys()
    assert data["script"] in files
    assert {url for urls in data["stored"].values() for url in urls.values()} <= files.keys()
    assert "//" not in re.sub(r"<script\b.*?</script>", "", html, flags=re.DOTALL)  # no other host


def test_model_files_are_the_folders_compressed(files: Mapping[str, bytes]) -> None:
    entry = site(files)["models"]["toy"]
    stored = {file["url"].rpartition("/")[2]: file for file in [*entry["weights"], entry["source_tokenizer"]]}
    assert stored.keys() == {"model.safetensors.deflate", "source_tokenizer.json.deflate"}
    for name, file in stored.items():
        content = files[file["url"]]
        assert file["bytes"] == len(content)
        assert file["sha256"] == hashlib.sha256(zlib.decompress(content)).hexdigest()
        assert zlib.decompress(content) == (MODELS / "toy" / name.removesuffix(".deflate")).read_bytes()


def test_scripts_and_styles_are_compressed(files: Mapping[str, bytes]) -> None:
    paths = start(files)["files"]
    assert paths.keys() == {MODULES, STYLE, PLOTLY, LESSONS, LESSONS_STYLE}
    for name, path in paths.items():
        assert path.endswith(f"/{name}.deflate")
        assert files[path][:2] == b"\x78\xda"  # by which the page knows a compressed file (`core/decompress.js`)
        assert zlib.decompress(files[path]) == page_file(name)
        assert page_file(name)[:2] != b"\x78\xda"
        assert not any(other.endswith(f"/{name}") for other in files)


def test_first_map_needs_few_bytes(files: Mapping[str, bytes]) -> None:
    paths = start(files)["files"]
    assert sum(len(files[path]) for path in (INDEX, paths[MODULES], paths[STYLE])) <= MAX_FIRST_BYTES


def test_standalone_page_is_a_file_of_the_folder(files: Mapping[str, bytes]) -> None:
    standalone = site(files)["standalone"]
    content = zlib.decompress(files[standalone["file"]["url"]])
    assert standalone["file"]["sha256"] == hashlib.sha256(content).hexdigest()
    assert standalone["version"] == __version__
    template = content.decode()
    assert all(template.count(f"{{{{{name}}}}}") == 1 for name in ("language", "title", "data"))


def test_names_have_the_versions_that_the_script_asks_for(files: Mapping[str, bytes]) -> None:
    script = zlib.decompress(files[start(files)["files"][MODULES]])
    for name in (PLOTLY, HEALTH_FILE):
        version = file_path(name).split("/")[1]
        assert f'"{name}":"{version}"'.encode() in script


@pytest.mark.slow
def test_sizes_stay_within_the_limits() -> None:
    page = read_page(Settings(), ("de-en", "zh-en"))
    files = site_files(page)
    models = {
        name: sum(len(files[path]) for path in files if path.startswith(f"models/{name}/")) for name in page.models
    }
    assert models.keys() == {"de-en", "zh-en"}
    assert max(models.values()) <= MAX_MODEL_BYTES
    assert sum(map(len, files.values())) - sum(models.values()) <= MAX_SHARED_BYTES


def test_first_answer_is_one_that_the_engine_could_give(files: Mapping[str, bytes]) -> None:
    (translate,) = (widget for widget in site(files)["widgets"] if widget["id"] == "widget-translate")
    answer, config = json.loads(translate["value"]), json.loads(translate["config"])
    assert answer["version"] == ANSWER_VERSION
    assert answer["model"]["name"] == config["defaults"]["model"] == "toy"
    assert answer["reliability"] == {"probability": None, "grade": None, "reasons": [], "back": None}  # no fitted rule
    assert answer["way_back"] == ""
    assert answer["request"]["options"]["back_weight"] == 0
    assert [model["name"] for model in config["models"]] == ["toy"]
    assert {example["model"] for example in config["examples"]} <= {"toy"}


@pytest.mark.slow
def test_both_directions_read_each_other_back() -> None:
    data = site(site_files(read_page(Settings(), ("en-de", "de-en", "zh-en"))))
    models = data["models"]
    assert {name: entry["reverse"] for name, entry in models.items()} == {
        "en-de": "de-en",
        "de-en": "en-de",
        "zh-en": "",
    }
    assert [entry["answer_model"]["defaults"]["back_weight"] for entry in models.values()] == [
        REVERSE_WEIGHT, REVERSE_WEIGHT, 0
    ]  # fmt: skip
    fitted = FittedRule.from_json((MODELS / "en-de" / RELIABILITY_FILE).read_text(encoding="utf-8"))
    assert ReliabilityWeights(**_tuples(models["en-de"]["rule"]["with_back"])) == fitted.with_back
    (translate,) = (widget for widget in data["widgets"] if widget["id"] == "widget-translate")
    answer, config = json.loads(translate["value"]), json.loads(translate["config"])
    assert answer["way_back"] == "de-en"
    assert answer["reliability"]["back"]
    assert config["defaults"]["back_weight"] == REVERSE_WEIGHT
    assert any(row["name"] == "back_weight" for row in config["options"])


def _tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def test_engine_answers_the_calls_that_are_offered() -> None:
    calls = (WIDGETS / "engine" / "calls.js").read_text(encoding="utf-8")
    table = calls.partition("export const ANSWERS = {")[2]
    assert set(re.findall(r"^ {2}(\w+):", table, re.MULTILINE)) == set(ENGINE_CALLS)


def test_answer_version_of_the_engine_is_that_of_the_messages() -> None:
    answer = (WIDGETS / "engine" / "answer.js").read_text(encoding="utf-8")
    assert f"ANSWER_VERSION = {ANSWER_VERSION};" in answer


def test_panels_are_panels_of_the_page(page: PageContent) -> None:
    assert set(PANELS) < set(TABS)
    assert {widget["panel"] for widget in page.widgets} == {"", *(f"panel-{name}" for name in PANELS)}


def test_engine_script_has_no_modules_of_the_page() -> None:
    modules = set(re.findall(r"^modules\['([^']+)'\]", engine_script(), re.MULTILINE))
    assert "engine/worker.js" in modules
    assert {name for name in modules if not name.startswith("engine/")} == {
        "core/decompress.js",
        "core/weight-decoding.js",
    }


def test_tables_are_json_and_cover_their_ranges() -> None:
    tables = json.loads(json.dumps(engine_tables()))
    assert [0x30, 0x39] in tables["digits"]
    assert any(low <= ord("的") <= high for low, high in tables["wide"])
    assert not any(low <= ord("a") <= high for low, high in tables["wide"])
    assert len(tables["chinese"]["traditional"]) == len(tables["chinese"]["simplified"])


def test_command_writes_a_folder_and_removes_files_of_the_last_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: Mapping[str, bytes]
) -> None:
    folder = tmp_path / "site"
    write_files(folder, {**files, "files/old/page.css": b"old"})
    assert main(["static", str(folder), "--models", "toy"]) == 0
    output = capsys.readouterr().out
    assert f"{len(files)} files" in output
    assert f"python -m http.server --directory {folder}" in output
    on_disk = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert on_disk == dict(files)
    assert not (folder / "files" / "old").exists()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("nope", 'There is no translator "nope" here. Choose among: de-en, '),
        (" , ", "No model was named. Name some of: de-en, "),
        ("sentiment", 'There is no translator "sentiment" here.'),
    ],
)
def test_unknown_models_are_named(names: str, message: str) -> None:
    with pytest.raises(CommandError, match=re.escape(message)):
        choose_models(Settings(), names)


def test_models_keep_their_order_and_are_chosen_once() -> None:
    assert choose_models(Settings(), "zh-en, de-en,zh-en") == ("zh-en", "de-en")


def test_other_folders_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(CommandError, match=r"has other files\. Name a new or an empty folder"):
        check_folder(tmp_path)
    with pytest.raises(CommandError, match=r"is a file\. Name a folder"):
        check_folder(tmp_path / "thesis.txt")
    check_folder(tmp_path / "new")
