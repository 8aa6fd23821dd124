"""The command that checks SHA256SUMS: GNU's `sha256sum`, or `shasum` on macOS and in Git for Windows."""

from __future__ import annotations

import shutil

SHA256SUM = ["sha256sum"] if shutil.which("sha256sum") else ["shasum", "--algorithm", "256"]
