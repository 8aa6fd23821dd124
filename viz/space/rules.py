"""The Hub's rules for a Space, checked without the Hub.

https://huggingface.co/docs/hub/spaces-config-reference lists the keys of the front matter. The limit on
`short_description` comes from the Hub's error: "length must be less than or equal to 60 characters long".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

MAX_GIT_BYTES = 10_000_000  # per file in git; larger ones need LFS or Xet
MAX_DESCRIPTION_CHARACTERS = 60
SAMPLE_BYTES = 512  # length of the file's beginning from which the Hub detects binary files
ZERO_GPU = "zero-a10g"
ZERO_GPU_PYTHONS = ("3.10", "3.12")  # https://huggingface.co/docs/hub/spaces-zerogpu
COLOURS = ("red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray")
CHOICES = {
    "sdk": ("gradio", "static"),  # the Hub also supports docker
    "colorFrom": COLOURS,
    "colorTo": COLOURS,
    "header": ("default", "mini"),
}
VALUE_TYPES: Mapping[str, type] = {
    "title": str, "emoji": str, "sdk": str, "sdk_version": str, "python_version": str, "app_file": str,
    "base_path": str, "short_description": str, "thumbnail": str, "header": str, "colorFrom": str, "colorTo": str,
    "license": str, "license_name": str, "license_link": str, "startup_duration_timeout": str,
    "suggested_hardware": str, "fullWidth": bool, "pinned": bool, "disable_embedding": bool, "models": list,
    "datasets": list, "tags": list, "preload_from_hub": list, "custom_headers": dict,
}  # fmt: skip
TYPE_NAMES = {str: "text", bool: "true or false", list: "a list", dict: "a table"}
REQUIRED_KEYS: Mapping[str, tuple[str, ...]] = {
    "gradio": ("title", "sdk", "sdk_version", "app_file"),
    "static": ("title",),
}
PATTERNS = {
    "python_version": (r"3\.\d+(\.\d+)?", "3.x or 3.x.x, in quotation marks"),
    "base_path": (r"/.*", "a path that begins with /"),
    "startup_duration_timeout": (r"\d+[smhd]", "a duration such as 30m"),
    "license_name": (r"[a-z0-9.-]+", "lower-case letters, digits, - and ."),
}


def needs_large_storage(path: Path) -> bool:
    """Whether a file is too large for git, or binary. The upload stores it with Xet."""
    with path.open("rb") as file:
        sample = file.read(SAMPLE_BYTES)
    return path.stat().st_size > MAX_GIT_BYTES or b"\0" in sample or not _is_text(sample)


def faults(files: Mapping[str, Path], hardware: str | None = None) -> Iterator[str]:
    """Yield problems that make the Hub reject the files or the Space fail to start, as one sentence each."""
    for name, path in files.items():
        if not path.is_file():
            yield f"{name} is missing."
    readme = files.get("README.md")
    if readme is None or not readme.is_file():
        return
    yield from find_card_faults(
        readme, set(files), _find_pinned_version(files.get("requirements.txt"), "gradio"), hardware
    )


def find_card_faults(readme: Path, names: set[str], gradio: str | None, hardware: str | None = None) -> Iterator[str]:
    """Yield problems in the front matter, given all file names and the pinned version of Gradio."""
    card = _read_front_matter(readme)
    if isinstance(card, str):
        yield card
        return
    required = REQUIRED_KEYS.get(str(card.get("sdk")), REQUIRED_KEYS["gradio"])
    yield from (f"README.md: {key} is missing." for key in required if key not in card)
    for key, value in card.items():
        yield from (f"README.md: {key} {fault}." for fault in _find_value_faults(key, value))
    if isinstance(card.get("app_file"), str) and card["app_file"] not in names:
        yield f"README.md: app_file is {card['app_file']}, which is not among the Space's files."
    link = card.get("license_link")
    if isinstance(link, str) and not link.startswith("https://") and link not in names:
        yield f"README.md: license_link is {link}, which is not among the Space's files."
    if gradio is not None and card.get("sdk_version") != gradio:
        yield f"README.md: sdk_version is {card.get('sdk_version')}, but requirements.txt pins gradio {gradio}."
    python = str(card.get("python_version"))
    if hardware == ZERO_GPU and python[:4] not in ZERO_GPU_PYTHONS:
        yield f"README.md: python_version is {python}, but ZeroGPU has {', '.join(ZERO_GPU_PYTHONS)}."


def _find_value_faults(key: str, value: Any) -> Iterator[str]:
    text = str(value)
    if key not in VALUE_TYPES:
        yield "is not a key of a Space's front matter"
    elif type(value) is not VALUE_TYPES[key]:
        yield f"is {value!r}, but must be {TYPE_NAMES[VALUE_TYPES[key]]}"
    elif key in CHOICES and value not in CHOICES[key]:
        yield f"is {value!r}, but must be one of {', '.join(CHOICES[key])}"
    elif key == "short_description" and len(text) > MAX_DESCRIPTION_CHARACTERS:
        yield f"has {len(text)} characters, but at most {MAX_DESCRIPTION_CHARACTERS} are allowed"
    elif key == "emoji" and text.isascii():
        yield f"is {value!r}, but must be an emoji"
    elif key in PATTERNS and re.fullmatch(PATTERNS[key][0], text) is None:
        yield f"is {value!r}, but must be {PATTERNS[key][1]}"
    elif key == "thumbnail" and not text.startswith("https://"):
        yield "must be an address that begins with https://"
    elif isinstance(value, list) and not all(isinstance(item, str) for item in value):
        yield "must be a list of texts"


def _read_front_matter(readme: Path) -> dict[str, Any] | str:
    """Return the front matter, or an error message."""
    from huggingface_hub import metadata_load
    from yaml import YAMLError

    try:
        card = metadata_load(readme)
    except (YAMLError, ValueError) as error:
        return f"README.md: the front matter cannot be read: {' '.join(str(error).split())}."
    return card or "README.md has no front matter: it begins and ends with a line of three dashes."


def _find_pinned_version(requirements: Path | None, package: str) -> str | None:
    text = requirements.read_text(encoding="utf-8") if requirements is not None and requirements.is_file() else ""
    match = re.search(rf"^{package}(?:\[[^\]]*\])?==([\w.]+)", text, re.MULTILINE)
    return match[1] if match else None


def _is_text(sample: bytes) -> bool:
    """Whether bytes are UTF-8. The sample may end within a character."""
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True
