"""The package without the app: `pip install headlight-attention` and a user's own arrays, models and files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import headlight
from headlight.model.errors import INSTALL_APP, MissingPackageError, ModelError, require_packages
from headlight.model.recordings import recording
from tests.installed import MODELS_ROOT, ROOT, Environment, build, needed_distributions, outside, quiet
from tests.light_steps import BlockedPackages

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
STEPS = ROOT / "tests" / "light_steps.py"
# What `app` adds, and what that brings: PyTorch, the web server, tokenizers, tables, downloads.
APP = [
    "anyio", "fastapi", "gradio", "gradio_client", "httpx", "httpx2", "huggingface_hub", "markdown_it", "pandas",
    "pydantic", "safetensors", "sentencepiece", "starlette", "tokenizers", "torch", "transformers", "uvicorn",
]  # fmt: skip
BESIDE_TORCH = ["gradio", "starlette", "fastapi", "uvicorn", "pandas", "pydantic", "markdown_it", "sentencepiece"]
RESULTS = {
    "equal": True,
    "cell": 0,
    "previous": [2, 3],
    "compare": "Headlight: self 2 × 3 heads of 5 × 5, self 2 × 3 heads of 5 × 5",
    "bertviz": True,
    "formats": ["application/vnd.jupyter.widget-view+json", "image/svg+xml", "text/html", "text/plain"],
    "errors": True,
}
MAX_INSTALLED_BYTES = 300_000_000


def run_blocked(code: str, folder: Path, blocked: list[str]) -> subprocess.CompletedProcess[str]:
    """Run code of this checkout in a new process in which these packages are not installed."""
    script = "import sys\nfrom tests.light_steps import BlockedPackages\n"
    script += f"sys.meta_path.insert(0, BlockedPackages({blocked}))"
    return subprocess.run(
        [sys.executable, "-c", f"{script}\n{code}"],
        cwd=folder,
        env=outside(PYTHONPATH=str(ROOT)),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_views_of_arrays_need_no_package_of_the_app(tmp_path: Path) -> None:
    output = quiet([sys.executable, STEPS, *APP], tmp_path, PYTHONPATH=str(ROOT))
    assert json.loads(output) == RESULTS
    assert "globalThis.headlightData" in (tmp_path / "view.html").read_text(encoding="utf-8")
    assert {path.name for path in tmp_path.iterdir()} == {
        "head.pdf", "maps.json", "maps.npz", "view.html", "wall.svg"
    }  # fmt: skip


def test_blocked_packages_cannot_be_imported(tmp_path: Path) -> None:
    process = run_blocked("import starlette", tmp_path, ["starlette"])
    assert process.returncode == 1
    assert "No module named 'starlette'" in process.stderr
    assert BlockedPackages(["torch"]).find_spec("torchvision") is None


def test_attention_of_a_torch_module_needs_no_server(tmp_path: Path) -> None:
    code = """
import headlight, json, torch
torch.manual_seed(0)
layer = torch.nn.MultiheadAttention(embed_dim=6, num_heads=3, batch_first=True)
states = torch.randn(1, 5, 6)
_, weights = layer(states, states, states, average_attn_weights=False)  # [batch, head, row, column]
recording = headlight.record([weights], tokens=list("abcde"))
print(json.dumps([recording.of("self").select(0, 2).tolist(), weights[0, 2].tolist()]))
"""
    process = run_blocked(code, tmp_path, BESIDE_TORCH)
    assert process.returncode == 0, process.stderr
    recorded, expected = json.loads(process.stdout)
    assert recorded == expected
    assert len(recorded) == 5


@pytest.mark.parametrize(
    ("name", "package"), [("Translator", "torch"), ("lesson", "torch"), ("head_effects", "torch"), ("watch", "torch")]
)
def test_names_of_the_app_say_how_to_install_it(name: str, package: str, tmp_path: Path) -> None:
    code = f"""
import headlight
try:
    headlight.{name}
except headlight.errors.MissingPackageError as error:
    print(error)
"""
    process = run_blocked(code, tmp_path, APP)
    assert process.returncode == 0, process.stderr
    assert process.stdout == (
        f"headlight.{name} needs {package}, which is not installed. Install the whole app: {INSTALL_APP} "
        "(in a checkout: pip install -r requirements.txt).\n"
    )


@pytest.mark.parametrize("words", [["translate", "Wo?"], ["run"], ["survey", "a.txt"], ["static", "a"]])
def test_commands_of_the_app_say_how_to_install_it_in_one_line(words: list[str], tmp_path: Path) -> None:
    process = run_blocked(f"import headlight; sys.exit(headlight.main({words}))", tmp_path, APP)
    assert process.returncode == 2
    (line,) = process.stderr.splitlines()
    assert re.match(rf"headlight {words[0]}: the command needs \w+, which is not installed\. ", line)
    assert INSTALL_APP in line


def test_version_and_list_of_commands_need_no_package_of_the_app(tmp_path: Path) -> None:
    for option, output in (("--version", f"headlight {headlight.__version__}\n"), ("--help", "translate a sentence")):
        process = run_blocked(f"import headlight; headlight.main([{option!r}])", tmp_path, [*APP, "numpy", "plotly"])
        assert process.returncode == 0, process.stderr
        assert output in process.stdout


def test_import_loads_only_the_standard_library(tmp_path: Path) -> None:
    code = "import sys; before = set(sys.modules); import headlight; print(*set(sys.modules) - before)"
    loaded = quiet([sys.executable, "-c", code], tmp_path, PYTHONPATH=str(ROOT)).split()
    assert {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names) == {"headlight"}
    assert "headlight.model" not in loaded


def test_missing_modules_of_headlight_are_bugs() -> None:
    with pytest.raises(ModuleNotFoundError) as error_info, require_packages("It"):
        raise ModuleNotFoundError("No module named 'headlight.none'", name="headlight.none")
    assert not isinstance(error_info.value, ModelError)
    with pytest.raises(ImportError, match="It needs starlette") as missing, require_packages("It"):
        raise ModuleNotFoundError("No module named 'starlette.routing'", name="starlette.routing")
    assert isinstance(missing.value, MissingPackageError)


@pytest.mark.parametrize("name", ["bertviz", "errors"])
def test_root_of_a_checkout_hides_no_other_package(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text("mine = True", encoding="utf-8")
    code = f"import {name}, headlight.{name}; print({name}.mine, headlight.{name}.__all__)"
    output = quiet([sys.executable, "-c", code], ROOT, PYTHONPATH=str(tmp_path))  # "" is first on Python's path
    assert output.startswith("True ['")


def test_public_modules_are_one_module_by_each_import() -> None:
    from headlight import errors
    from headlight.errors import RecordingError

    assert errors is headlight.errors is sys.modules["headlight.errors"]
    assert RecordingError is recording.RecordingError


def test_dependencies_are_small() -> None:
    needed = needed_distributions(PROJECT["dependencies"])
    forbidden = {Requirement(line).name for line in PROJECT["optional-dependencies"]["app"]} - {"numpy", "plotly"}
    forbidden |= {"starlette", "fastapi"}
    assert set(needed) & forbidden == set()
    files = [file for each in needed.values() for file in each.files or () if file.parts[0] != ".."]
    sizes = {file: Path(str(file.locate())).stat().st_size for file in files if Path(str(file.locate())).is_file()}
    assert 50_000_000 < sum(sizes.values()) <= MAX_INSTALLED_BYTES


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("built"))


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_wheel_works_in_an_environment_with_only_its_dependencies(wheel: Path, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "empty", PROJECT["dependencies"])
    environment.install(wheel)
    code = "import importlib.util as u, sys; print([name for name in sys.argv[1:] if u.find_spec(name)])"
    assert environment.run("python", "-c", code, *APP).strip() == "[]"
    assert json.loads(environment.run("python", str(STEPS))) == RESULTS
    process = subprocess.run(
        [environment.command("headlight"), "run"],
        cwd=environment.folder,
        env=outside(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert process.returncode == 2
    assert len(process.stderr.splitlines()) == 1
    assert process.stderr.startswith("headlight run: the command needs ")
    assert environment.run("headlight", "--version") == f"headlight {headlight.__version__}\n"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_first_lines_of_the_guide_run_beside_torch_and_transformers(wheel: Path, tmp_path: Path) -> None:
    """An environment such as Colab's: NumPy, PyTorch and transformers are there, and Headlight's wheel is added."""
    from tests.model.recordings import families

    environment = Environment(tmp_path / "colab", [*PROJECT["dependencies"], "torch", "transformers"])
    environment.install(wheel)
    families.fused_gpt2().save_pretrained(environment.folder / "gpt2")
    families.tokenizer().save_pretrained(environment.folder / "gpt2")
    guide = (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8")
    install, lines = re.findall(r"```(?:python)?\n(.*?)```", guide, re.DOTALL)[:2]
    assert install == f"pip install {PROJECT['name']}\n"
    code = f"{lines.replace('headlight.show', 'view = headlight.show')}\nprint(repr(view))"
    assert environment.run("python", "-c", code).startswith("Headlight: self 2 × 3 heads")
    code = "import importlib.util as u, sys; print([name for name in sys.argv[1:] if u.find_spec(name)])"
    assert environment.run("python", "-c", code, "gradio", "starlette", "pandas", "sentencepiece").strip() == "[]"


@pytest.mark.slow
def test_models_are_named_if_they_are_not_installed(wheel: Path, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "empty")
    environment.install(wheel)
    code = """
import headlight
try:
    headlight.Translator.load("de-en")
except headlight.errors.CheckpointError as error:
    print(error)
"""
    assert environment.run("python", "-c", code) == (
        f"de-en: there is no such folder. The trained models are part of the whole app: {INSTALL_APP}.\n"
    )
    environment.install(build(tmp_path, root=MODELS_ROOT))
    assert environment.run("headlight", "translate", "Ich trinke ein Bier.", "--beam", "4").strip() == "I drink a beer."


def test_distributions_of_the_development_environment_satisfy_the_ranges() -> None:
    for line in PROJECT["dependencies"]:
        requirement = Requirement(line)
        assert requirement.specifier.contains(distribution(requirement.name).version), line
