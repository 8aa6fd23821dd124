"""The upload of a Space in one commit, so that it never builds from an incomplete set of files.

`create_commit` uploads large and binary files to Xet before it commits, and skips files that the Space already has, so
a second call resumes an interrupted upload.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from logging import ERROR
from pathlib import Path
from typing import Any

from headlight.model.errors import CommandError, repr_short
from headlight.model.families.hub.download_plan import AGENT, endpoint, host

TOKENS_URL = "https://huggingface.co/settings/tokens"
URL_PREFIX = re.compile(r"https?://[^/]+/spaces/")
NAME_PATTERN = r"[A-Za-z0-9]+(?:[._-]?[A-Za-z0-9_]+)*"
MAX_NAME_CHARACTERS = 96  # the limit of `huggingface_hub`
RESUME_HINT = "Run the same command again to resume"
MARKER_FILES = {
    "gradio": "headlight.py",
    "static": "sw.js",
}  # a Space with the file of its SDK was created by Headlight
INITIAL_FILES = {".gitattributes", "README.md"}  # initial files of a new repository
PAYMENT_REQUIRED = 402  # HTTP status: Gradio on the free CPU hardware needs a subscription


def read_name(text: str) -> str:
    """Parse `user/name`, or the URL of a Space."""
    name = URL_PREFIX.sub("", text.strip()).rstrip("/")
    if (
        len(name) > MAX_NAME_CHARACTERS
        or not re.fullmatch(f"{NAME_PATTERN}/{NAME_PATTERN}", name)
        or "--" in name
        or name.endswith(".git")
    ):
        raise CommandError(
            f"{repr_short(text, 60)} is not the name of a Space. Write user/name, such as ada/headlight: letters, "
            "digits and single - _ . between them."
        )
    return name


def check_space(name: str, *, sdk: str, replace: bool = False) -> None:
    """Raise a `CommandError` if there is no token, the Hub rejects it, or the Space contains another app."""
    api = _connect()
    with report_hub_errors(name, api), silence_library():
        contents = _read_contents(api, name)
        if contents is not None:
            _reject_other_app(name, contents[1], sdk, replace=replace)


def upload(
    name: str,
    files: Mapping[str, Path],
    *,
    sdk: str = "gradio",
    private: bool = False,
    hardware: str | None = None,
    replace: bool = False,
    log: Callable[[str], None] = print,
) -> bool:
    """Create or update the Space and delete its other files. Returns whether anything changed."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    api = _connect()
    with report_hub_errors(name, api), silence_library():
        contents = _read_contents(api, name)
        if contents is None:
            log(f"Creating the Space {name}.")
            api.create_repo(
                name, repo_type="space", space_sdk=sdk, space_hardware=hardware, private=private, exist_ok=True
            )
            contents = _read_contents(api, name) or (None, set())
        commit, names = contents
        _reject_other_app(name, names, sdk, replace=replace)
        log(f"Sending {len(files)} files to {name}. If it is interrupted, run the same command again to resume.")
        deleted = sorted(names - set(files) - {".gitattributes"})
        result = api.create_commit(
            name,
            [*(CommitOperationDelete(target) for target in deleted),
             *(CommitOperationAdd(target, path) for target, path in files.items())],
            commit_message="Update Headlight",
            repo_type="space",
            parent_commit=commit,
        )  # fmt: skip
    return bool(result.oid != commit)


def _connect() -> Any:
    """Return the client of the Hub with this machine's token."""
    from huggingface_hub import HfApi, get_token

    if get_token() is None:
        raise CommandError(
            f"There is no Hub token on this machine. Create one with write access at {TOKENS_URL}, then run "
            "`hf auth login`, or set HF_TOKEN."
        )
    return HfApi(endpoint=endpoint(), user_agent=AGENT)


def _reject_other_app(name: str, names: set[str], sdk: str, *, replace: bool) -> None:
    if MARKER_FILES[sdk] not in names and names - INITIAL_FILES and not replace:
        raise CommandError(
            f"{name} contains another app, whose files would be deleted. Choose another name, or add --replace."
        )


def make_space_url(name: str) -> str:
    """Return the URL of a Space."""
    return f"{endpoint()}/spaces/{name}"


@contextmanager
def silence_library() -> Iterator[None]:
    """Silence the library's logs, and its progress bars outside a terminal."""
    from huggingface_hub.utils import logging
    from huggingface_hub.utils.tqdm import disable_progress_bars, enable_progress_bars

    verbosity = logging.get_verbosity()
    logging.set_verbosity(ERROR)
    if not sys.stderr.isatty():
        disable_progress_bars()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        enable_progress_bars()


def _read_contents(api: Any, name: str) -> tuple[str | None, set[str]] | None:
    """Return the commit and the files of a Space; `None` if it does not exist or the token has no access."""
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        info = api.space_info(name)
    except RepositoryNotFoundError:
        return None
    return info.sha, {sibling.rfilename for sibling in info.siblings or ()}


@contextmanager
def report_hub_errors(name: str, api: Any) -> Iterator[None]:
    """Convert library and network errors into a one-line message with a fix."""
    import httpx2
    from huggingface_hub import constants, errors

    constants.HF_HUB_DISABLE_TELEMETRY = True
    try:
        yield
    except errors.OfflineModeIsEnabled:
        raise CommandError("HF_HUB_OFFLINE is set, so nothing can be sent. Unset it.") from None
    except errors.HfHubHTTPError as error:
        raise CommandError(_explain_status(name, api, error)) from None
    except (httpx2.HTTPError, OSError) as error:
        reason = f"The connection to {host()} failed: {_join_lines(str(error) or type(error).__name__)}"
        raise CommandError(f"{reason} Check the network, the proxy and HF_ENDPOINT. {RESUME_HINT}.") from None
    except (ValueError, RuntimeError) as error:  # from the front matter; from Xet or LFS uploads
        raise CommandError(f"{host()} rejected the files: {_join_lines(str(error))} {RESUME_HINT}.") from None


def _explain_status(name: str, api: Any, error: Any) -> str:
    """Explain an HTTP error from the Hub, with a fix."""
    status, reason = error.response.status_code, _join_lines(error.server_message or "")
    if status == 401:
        return f"{host()} does not accept the token. Create a new one at {TOKENS_URL} and run `hf auth login`."
    if status == PAYMENT_REQUIRED:
        return f"{reason} A free account may have two Spaces on ZeroGPU: add --hardware zero-a10g.".strip()
    if status in (403, 404):
        return _explain_forbidden(name, api, reason).replace("  ", " ")
    if status in (409, 412):
        return f"{name} was changed meanwhile. {RESUME_HINT}."
    if status == 429 or status >= 500:
        return f"{host()} is busy (status {status}). Wait a minute. {RESUME_HINT}."
    return f"{host()} rejected the files (status {status}): {reason}"


def _explain_forbidden(name: str, api: Any, reason: str) -> str:
    """Explain why the token may not write, as far as the Hub's account data shows."""
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    owner = name.partition("/")[0]
    try:
        account = api.whoami()
        user, role = str(account["name"]), account["auth"]["accessToken"]["role"]
        owners = {user, *(organisation["name"] for organisation in account["orgs"])}
    except (HfHubHTTPError, httpx2.HTTPError, ValueError, LookupError, TypeError):
        return f"The token may not write to {name}. {reason} Give it that right at {TOKENS_URL}."
    if role == "read":
        return f"The token of {user} may only read. Create one that may write at {TOKENS_URL}."
    if owner not in owners:
        return f"The token of {user} may not write to {name}. {reason} Check the spelling of {owner}, or join it."
    return f"The token of {user} may not write to {name}. {reason} Give it that right at {TOKENS_URL}."


def _join_lines(text: str) -> str:
    """Join a message from the Hub into one line that ends with a full stop."""
    line = " ".join(text.split())[:600]
    return line if line.endswith(".") or not line else f"{line}."
