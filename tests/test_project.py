"""Project files: workflows, issue forms, hooks, citation, version."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import headlight
from tests.test_docs import Command, installable, parse_command

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
TRIGGERS = {
    "tests": {"push", "pull_request", "schedule", "release"},
    "release": {"push"},
    "space": {"push", "workflow_dispatch"},
}
KINDS = {"textarea", "input", "dropdown", "checkboxes", "markdown"}


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps() -> list[tuple[str, dict[str, Any]]]:
    return [(name, step) for path in WORKFLOWS for name, job in read(path)["jobs"].items() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_has_valid_structure(path: Path) -> None:
    workflow = read(path)
    # YAML 1.1 parses the key `on` as True.
    assert set(workflow) - {True} <= {"name", "permissions", "concurrency", "env", "jobs"}
    assert set(workflow[True]) == TRIGGERS[path.stem]
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert re.fullmatch(r"[a-z][\w-]*", name)
        assert set(job) <= {
            "runs-on",
            "strategy",
            "steps",
            "needs",
            "if",
            "environment",
            "permissions",
            "timeout-minutes",
        }
        assert job.get("needs", name) in workflow["jobs"]
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), step
            assert set(step) <= {"name", "run", "uses", "with", "env"}
    variables = set(re.findall(r"\$\{\{ ([\w.-]+) \}\}", path.read_text(encoding="utf-8")))
    matrix_variables = {
        f"matrix.{key}" for job in workflow["jobs"].values() for key in job.get("strategy", {}).get("matrix", {})
    }
    assert variables <= matrix_variables | {
        "github.ref", "github.repository", "github.token", "vars.SPACE", "secrets.HF_TOKEN",
    }  # fmt: skip


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit(path: Path) -> None:
    """A tag can be moved to other code; the comment says which version the commit is."""
    lines = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert lines
    for line in lines:
        assert re.fullmatch(r"(actions/[\w-]+|pypa/gh-action-pypi-publish)@[0-9a-f]{40}  # v\d+\.\d+\.\d+", line), line


def test_images_are_pinned_by_digest() -> None:
    files = [ROOT / "Dockerfile", *(ROOT / "docs" / "cluster").glob("*.yaml")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    images = set(re.findall(r"(?:^FROM|image:) ([\w/][^\s]+)", text, flags=re.MULTILINE))
    images -= {"headlight-cluster", "headlight-cluster:latest"}  # built from this repository
    assert {image.partition(":")[0] for image in images} == {"python", "caddy", "valkey/valkey"}
    for image in images:
        assert re.fullmatch(r"[\w/]+:[\w.-]+@sha256:[0-9a-f]{64}", image), image
    assert sum("valkey" in image for image in images) == 1  # the same one in both files


def test_updates_cover_every_kind_of_pin() -> None:
    updates = read(ROOT / ".github" / "dependabot.yml")["updates"]
    folders = {update["package-ecosystem"]: update.get("directories", [update.get("directory")]) for update in updates}
    pins = {
        "pip": "requirements.txt",
        "npm": "package-lock.json",
        "docker": "Dockerfile",
        "docker-compose": "compose.yaml",
    }
    assert set(folders) == {*pins, "github-actions"}
    for ecosystem, file in pins.items():
        assert all((ROOT / folder.lstrip("/") / file).exists() for folder in folders[ecosystem])
    assert folders["pip"] == ["/", "/docs/cluster"]
    assert all(update["schedule"]["interval"] == "monthly" for update in updates)


def test_release_job_publishes_without_token_or_project_code() -> None:
    workflow = read(ROOT / ".github" / "workflows" / "release.yml")
    assert workflow[True] == {"push": {"tags": ["v*"]}}
    build, publish = workflow["jobs"]["build"], workflow["jobs"]["publish"]
    runs = [step["run"] for step in build["steps"] if "run" in step]
    assert runs == ['make tag TAG="$GITHUB_REF_NAME"', "make dist", "make sbom"]  # the tag must match the version
    assert (publish["needs"], publish["permissions"]) == ("build", {"id-token": "write"})
    assert [step["uses"].partition("@")[0] for step in publish["steps"]] == [
        "actions/download-artifact", "pypa/gh-action-pypi-publish",
    ]  # fmt: skip
    files = workflow["jobs"]["files"]  # it may write to the repository, so it runs no code of ours
    assert (files["needs"], files["permissions"]) == ("publish", {"contents": "write"})
    assert all(step.get("run", "gh release").startswith("gh release") for step in files["steps"])
    assert "secrets" not in (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("tag", "code"), [(f"v{headlight.__version__}", 0), (headlight.__version__, 2), ("v9.9.9", 2), ("v'; false; '", 2)]
)
@pytest.mark.skipif(os.name == "nt", reason="releases are built with make, which Windows lacks")
def test_release_tag_must_match_version(tag: str, code: int) -> None:
    command = ["make", "-s", "tag", f"TAG={tag}", f"BIN={Path(sys.executable).parent}"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert process.returncode == code, process.stderr
    assert code == 0 or f"The tag is {tag!r}, but headlight.py has version" in process.stderr


def test_space_is_uploaded_only_if_configured() -> None:
    (job,) = read(ROOT / ".github" / "workflows" / "space.yml")["jobs"].values()
    assert job["if"] == "vars.SPACE != ''"
    assert job["steps"][-1]["env"] == {"SPACE": "${{ vars.SPACE }}", "HF_TOKEN": "${{ secrets.HF_TOKEN }}"}


def test_matrix_covers_supported_pythons_and_systems() -> None:
    (matrix,) = (job["strategy"]["matrix"] for path in WORKFLOWS for job in read(path)["jobs"].values()
                 if "strategy" in job)  # fmt: skip
    low, high = re.findall(r"3\.(\d+)", PROJECT["requires-python"])
    assert matrix["python"] == [f"3.{minor}" for minor in range(int(low), int(high))]
    assert [re.match("[a-z]+", name)[0] for name in matrix["os"]] == ["ubuntu", "ubuntu", "macos", "windows"]  # type: ignore[index]
    assert sum(name.endswith("-arm") for name in matrix["os"]) == 1


def test_workflow_commands_exist() -> None:
    runs = [step["run"] for _, step in steps() if "run" in step]
    assert {"make check", "make test", "make test-all", "headlight --version", "python -m pip install ."} <= set(runs)
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    for run in runs:
        match parse_command(run):
            case Command(words=["make", target, *more]):
                assert target in targets
                assert all((ROOT / word.removeprefix("TESTS=")).exists() for word in more if word.startswith("TESTS"))
            case Command(words=["python", "-m", "pip", "install", ".", *pins]) if pins:
                assert pins == [re.sub(r">=([\d.]+).*", r"==\1", line) for line in PROJECT["dependencies"]]
            case Command(words=["python", "-m", "pip", "install", *words]):
                installable(words)
            case Command(words=["python" | "python3", "-m", module, *_]):
                assert module in ("pip", "pytest", "tests.light_steps", "workshop.trust.smoke")
            case Command(words=["docker", *words]):
                assert words[0] in ("build", "run")
                assert "-p" not in words or "7860:7860" in words
            case Command(words=["curl" | "gh", *_]):
                pass  # tools of the runner
            case Command(words=["headlight", *words]):
                assert words[0] in ("--version", "translate")
            case command:
                raise AssertionError(command)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_issue_form_has_valid_structure(path: Path) -> None:
    form = read(path)
    assert {"name", "description", "body"} <= set(form) <= {"name", "description", "labels", "body", "title"}
    ids = [each["id"] for each in form["body"]]
    assert len(ids) == len(set(ids)) > 0
    for each in form["body"]:
        assert each["type"] in KINDS
        assert each["attributes"]["label"]
        assert set(each) <= {"type", "id", "attributes", "validations"}


def test_hooks_match_make_check() -> None:
    (repository,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"  # uses the tools of .venv, so that versions are pinned once
    check = re.search(r"^check:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert check
    ids = set()
    for hook in repository["hooks"]:
        assert {"id", "name", "entry", "language"} <= set(hook)
        ids.add(hook["id"])
        tool = hook["entry"].split()[2]
        assert hook["entry"].startswith("python -m ")
        assert tool in check[1]
    assert {"ruff-check", "ruff-format", "mypy", "architecture"} <= ids


def test_messages_and_documents_name_the_distribution() -> None:
    """`headlight` on PyPI is another project, so instructions must not name it."""
    assert PROJECT["name"] == "headlight-attention"
    git = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    extras = set()
    for path in git.stdout.split("\0"):
        if path.endswith((".py", ".md", ".json", ".ipynb", ".yml", ".toml", ".txt", ".js")) and path != "CHANGELOG.md":
            text = (ROOT / path).read_text(encoding="utf-8")
            assert not re.search(r"(?<![\w.#-])headlight\[[a-z, ]+\](?!\.)", text), path
            assert not re.search(r"pip (un)?install (-\S+ )*'?headlight\b(?!-)", text), path
            extras |= set(",".join(re.findall(r"headlight-attention\[([a-z,]+)\]", text)).split(","))
    assert {"app", "survey", "cluster", "metrics"} <= extras - {""} <= set(PROJECT["optional-dependencies"])


def test_version_is_consistent() -> None:
    citation = read(ROOT / "CITATION.cff")
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert str(citation["version"]) == headings[0] == headlight.__version__
    assert "version" in PROJECT["dynamic"]  # the build reads it from headlight.py


def test_citation_has_required_fields() -> None:
    citation = read(ROOT / "CITATION.cff")
    assert {"cff-version", "message", "title", "authors", "version", "date-released"} <= set(citation)
    assert citation["cff-version"] == "1.2.0"
    assert all(set(author) & {"name", "family-names"} for author in citation["authors"])
    assert citation["license"] == "Apache-2.0"
    assert [each["name"] for each in citation["authors"]] == [each["name"] for each in PROJECT["authors"]]


def test_git_does_not_convert_line_endings() -> None:
    """Text files of models have checksums, so Git must not convert line endings."""
    git = subprocess.run(["git", "ls-files", "--eol"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    for line in git.stdout.splitlines():
        about, _, path = line.partition("\t")
        assert "attr/-text" in about, path


def test_app_and_tests_have_no_symlinks() -> None:
    git = subprocess.run(["git", "ls-files", "-s"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    links = [line.partition("\t")[2] for line in git.stdout.splitlines() if line.startswith("120000")]
    assert links == ["typings/headlight"]  # only for mypy; everything else works without symlinks
    for path in [*ROOT.glob("*.py"), *(ROOT / "tests").rglob("*.py"), *(ROOT / "viz").rglob("*.py")]:
        assert path.name == Path(__file__).name or "typings/" not in path.read_text(encoding="utf-8"), path
