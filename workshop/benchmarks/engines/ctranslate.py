"""CTranslate2, the fastest alternative: the same weights in its format, without attention maps or PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workshop.benchmarks.engines import Job, Workload


class CTranslate:
    """A CTranslate2 translator whose tokens are ids as text."""

    def __init__(self, translator: Any, row: str) -> None:
        self.translator = translator
        self.row = row

    def jobs(self, work: Workload) -> dict[str, Job]:
        """Return a job that decodes greedily up to the workload's length."""
        tokens = ids_to_tokens(work.ids)

        def translate() -> list[list[int]]:
            result = self.translator.translate_batch(tokens, beam_size=1, max_decoding_length=work.length)
            return [[int(token) for token in output.hypotheses[0]] for output in result]

        return {self.row: translate}


def ids_to_tokens(ids: list[list[int]]) -> list[list[str]]:
    """Return sentences as CTranslate2's tokens."""
    return [[str(token_id) for token_id in sentence] for sentence in ids]


def converted_folder(folder: Path) -> Path:
    """Return the path of a converted model folder."""
    return folder.with_name(f"{folder.name}.ctranslate2")


def load(folder: Path, *, row: str = "ctranslate2", compute_type: str = "float32", threads: int) -> CTranslate:
    """Load the converted model of a folder, which `convert.convert` has written."""
    import ctranslate2

    translator = ctranslate2.Translator(
        str(converted_folder(folder)), device="cpu", compute_type=compute_type, inter_threads=1, intra_threads=threads
    )
    return CTranslate(translator, row)
