"""What a model on the Hub is called, and what can go wrong with it, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from headlight.model.errors import ModelError

MAIN = "main"
PART = r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?"
REPOSITORY = re.compile(f"{PART}/{PART}")
REVISION = re.compile(rf"{PART}|refs/pr/\d{{1,6}}")
COMMIT = re.compile(r"[0-9a-f]{40}")
LONGEST = 96  # characters of a repository's name, and of a revision's

# Every kind of fault; `{names}` stand for values. No address is ever among them: it may hold a token.
FAULTS = {
    "bad_id": (
        "{given} is no id of a model on the Hub. Write owner/name, such as Helsinki-NLP/opus-mt-de-en, and @revision "
        "after it where one is wanted."
    ),
    "offline": (
        "{host} cannot be reached, and {repository} is not in the cache. Go online, or fetch its files on another "
        "computer ({files}), put them into a folder of their own under assets/models, or under HEADLIGHT_MODELS_FOLDER "
        "where that is set, and name that folder."
    ),
    "not_found": (
        "{host} knows no model {repository} with revision {revision}, or it is private. Check the spelling; if it is "
        "private, set HF_TOKEN to a token that may read it."
    ),
    "gated": (
        "{repository} is not for everybody. Accept its licence on its page on {host}, make a token there, and set "
        "HF_TOKEN to it."
    ),
    "busy": "{host} does not answer about {repository} as it should (status {status}). Try again later.",
    "astray": (
        "The way to {repository} leads in a circle, or to an address that cannot be asked, so nothing came. Check "
        "HF_ENDPOINT and the proxy of this network ({host} was asked)."
    ),
    "web_page": (
        "In place of {file} of {repository} came a web page or something else: the network may want a login first, or "
        "a proxy may keep {host} out. Open a page of {host} in a browser, then try again. Nothing of it was kept."
    ),
    "odd_answer": (
        "What {host} says about {repository} makes no sense: files come without size or checksum. Check HF_ENDPOINT, "
        "or try again later."
    ),
    "not_a_model": "{repository} holds no {missing}, so there is no model in it that can be read. Choose another one.",
    "too_large": (
        "{repository} is {megabytes} MB large, but at most {limit} MB may be fetched. Choose a smaller one, or set "
        "HEADLIGHT_MAX_DOWNLOAD_MB."
    ),
    "bad_limit": "HEADLIGHT_MAX_DOWNLOAD_MB is {given}, but must be a whole number of megabytes. Change or unset it.",
    "no_room": "{repository} needs {megabytes} MB, but the disk of the cache has {free} MB left. Make room.",
    "not_writable": "The cache cannot be written ({reason}). Set HF_HOME to a folder that can.",
    "broken_off": (
        "The connection broke off after {done} of {bytes} bytes of {file} from {repository}. What has come is kept: "
        "ask again to go on."
    ),
    "wrong_file": (
        "{file} of {repository} is not what it should be: {fault}. It was thrown away. Choose another model or "
        "revision, or try again later."
    ),
    "full": (
        "{repository} needs {megabytes} MB, but models of the Hub may take {limit} MB, and those that are fetched now "
        "may not leave. Raise HEADLIGHT_HUB_MB, or choose a smaller one."
    ),
    "refused": "{repository} was not fetched: {megabytes} MB were not agreed to.",
    "stopped": "The download of {repository} was stopped. What has come is kept: ask again to go on.",
}


class HubError(ModelError):
    """Something that cannot be fetched: `kind` is one of `FAULTS`, `values` are those of its sentence."""

    def __init__(self, kind: str, **values: str | int) -> None:
        self.kind = kind
        self.values: Mapping[str, str | int] = MappingProxyType(values)
        super().__init__(FAULTS[kind].format_map(values))

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.kind, dict(self.values))


def _again(kind: str, values: dict[str, str | int]) -> HubError:
    return HubError(kind, **values)


@dataclass(frozen=True)
class ModelId:
    """A repository of the Hub at a branch, a tag or a commit; nothing that could lead elsewhere can be one."""

    repository: str
    revision: str = MAIN

    def __post_init__(self) -> None:
        name = self.repository
        if not (_sound(REPOSITORY, name) and "--" not in name and not name.endswith(".git")):
            raise HubError("bad_id", given=_shown(name))
        if not _sound(REVISION, self.revision):
            raise HubError("bad_id", given=_shown(f"{name}@{self.revision}"))

    def __str__(self) -> str:
        return self.repository if self.revision == MAIN else f"{self.repository}@{self.revision}"

    @property
    def fixed(self) -> bool:
        """Whether the revision is a commit, which nobody can change."""
        return COMMIT.fullmatch(self.revision) is not None


def read_id(given: str, revision: str = MAIN) -> ModelId:
    """The id in `owner/name` or `owner/name@revision`."""
    repository, at, named = given.partition("@")
    return ModelId(repository, named if at else revision)


def _sound(form: re.Pattern[str], text: str) -> bool:
    return len(text) <= LONGEST and ".." not in text and form.fullmatch(text) is not None


def _shown(given: str) -> str:
    """As much as a sentence can hold, without anything that could steer a terminal."""
    cut = given if len(given) <= 60 else given[:60] + "…"
    return '"' + "".join(letter if letter.isprintable() else "�" for letter in cut) + '"'
