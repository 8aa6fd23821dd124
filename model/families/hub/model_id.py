"""Ids of models on the Hub, and download errors."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headlight.model.errors import TranslatableError, Value, repr_short

MAIN = "main"
PART = r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?"
REPOSITORY = re.compile(f"{PART}/{PART}")
REVISION = re.compile(rf"{PART}|refs/pr/\d{{1,6}}")
COMMIT = re.compile(r"[0-9a-f]{40}")
MAX_NAME_CHARACTERS = 96  # of a repository or a revision


class HubError(TranslatableError):
    """A download error with the phrase `error_hub_KIND`. Values contain no URL, because a URL may contain a token."""

    def __init__(self, kind: str, *, detail: str = "", **values: Value) -> None:
        super().__init__(f"hub_{kind}", "model", values, detail)

    @property
    def kind(self) -> str:
        """The kind of error, one word."""
        return self.word.removeprefix("hub_")


@dataclass(frozen=True)
class ModelId:
    """A repository on the Hub at a branch, a tag or a commit. Paths and URLs are invalid."""

    repository: str
    revision: str = MAIN

    def __post_init__(self) -> None:
        name = self.repository
        if not (_is_valid(REPOSITORY, name) and "--" not in name and not name.endswith(".git")):
            raise HubError("bad_id", given=repr_short(name, 60))
        if not _is_valid(REVISION, self.revision):
            raise HubError("bad_id", given=repr_short(f"{name}@{self.revision}", 60))

    def __str__(self) -> str:
        return self.repository if self.revision == MAIN else f"{self.repository}@{self.revision}"

    @property
    def is_commit(self) -> bool:
        """Whether the revision is a commit, which never changes."""
        return COMMIT.fullmatch(self.revision) is not None


def read_id(value: str, revision: str = MAIN) -> ModelId:
    """Parse `owner/name` or `owner/name@revision`."""
    repository, separator, parsed_revision = value.partition("@")
    return ModelId(repository, parsed_revision if separator else revision)


def _is_valid(form: re.Pattern[str], text: str) -> bool:
    return len(text) <= MAX_NAME_CHARACTERS and ".." not in text and form.fullmatch(text) is not None
