"""Detection of batch runs, in which a program such as nbclient or papermill executes the notebook without widgets."""

from __future__ import annotations

import os
import re
import sys

PYTHON_MESSAGE_ID = re.compile(
    r"[0-9a-f-]+_\d+_\d+"
)  # jupyter_client: session, process and message number; other clients send a UUID


def is_batch_run() -> bool:
    """Whether a Python client without a user interface runs the current cell.

    nbclient stores the state of each widget, and nbconvert then prefers the widget to HTML, although its code must be
    loaded from other hosts. User interfaces use message ids of another form, or add metadata. Voilà is an exception:
    it runs cells with nbclient and shows widgets.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    kernel = getattr(shell, "kernel", None)
    if kernel is None or os.environ.get("SERVER_SOFTWARE", "").startswith("voila"):
        return False
    request = kernel.get_parent("shell") or {}
    message_id = str(request.get("header", {}).get("msg_id", ""))
    return PYTHON_MESSAGE_ID.fullmatch(message_id) is not None and not request.get("metadata")
