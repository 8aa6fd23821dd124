"""The tool that checks SHA256SUMS: of GNU, or the one that Macs and Git for Windows have."""

from __future__ import annotations

import shutil

SHA256SUM = ["sha256sum"] if shutil.which("sha256sum") else ["shasum", "--algorithm", "256"]
