"""A check whether the Hub is reachable, by one small request that names no model."""

from __future__ import annotations

from headlight.model.families.hub.download_plan import AGENT, endpoint, is_offline

TIMEOUT_SECONDS = 3.0  # seconds without a response


def is_reachable() -> bool:
    """Whether the Hub responds. A gateway error (5xx) does not count as a response."""
    if is_offline():
        return False
    import httpx2
    from huggingface_hub import get_session

    try:
        # The session has the proxies and certificates that a download would use.
        response = get_session().head(
            f"{endpoint()}/robots.txt", headers={"user-agent": AGENT}, timeout=TIMEOUT_SECONDS
        )
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError):
        return False
    return bool(response.status_code < 500)
