"""What every reader of model folders offers: our own in `checkpoint.py`, and each family's in `families/`."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from headlight.model.decoding.generation_defaults import GenerationDefaults
from headlight.model.folders.storage import TensorStore, Weights
from headlight.model.text.languages import Languages
from headlight.model.text.vocabulary import Vocabulary

CONFIG = "config.json"


class FolderReader:
    """How the folders of one format become our models."""

    needs_sums = False  # whether a folder without SHA256SUMS is broken

    def complaints(self, folder: Path) -> AbstractContextManager[None]:
        """What goes on around reading: a format of strangers says in words what nobody thought of."""
        return nullcontext()

    def config(self, folder: Path, values: dict[str, Any]) -> Any:
        """Our configuration, from theirs."""
        raise NotImplementedError

    def store(self, folder: Path) -> Weights:
        """The folder's tensors."""
        return TensorStore(folder)

    def settled(self, config: Any, store: Weights) -> Any:
        """The configuration with what only the names of the tensors tell."""
        return config

    def build(self, config: Any) -> nn.Module:
        """The model; called while tensors are made without memory."""
        raise NotImplementedError

    def tokenizers(self, folder: Path, config: Any) -> tuple[Vocabulary, Vocabulary]:
        """Source and target vocabulary."""
        raise NotImplementedError

    def weight(self, store: Weights, name: str) -> Tensor:
        """The tensor that our model calls `name`; `MissingTensorError` where there is none."""
        return store.read(name)

    def spare(self, name: str) -> bool:
        """Whether a stored tensor may be left unread, as a derived table may."""
        return False

    def languages(self, folder: Path, config: Any, source: Vocabulary) -> Languages:
        """What the model can be asked for."""
        return Languages()

    def generation_defaults(self, folder: Path, config: Any, languages: Languages) -> GenerationDefaults:
        """How the model is used to write."""
        return GenerationDefaults()
