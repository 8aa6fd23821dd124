"""The interface of readers of model folders: Headlight's in `checkpoint.py`, one per family in `families/`."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from headlight.model.checkpoints.storage import TensorStore, Weights
from headlight.model.decoding.generation_defaults import GenerationDefaults
from headlight.model.text.languages import Languages
from headlight.model.text.vocabulary import Vocabulary

CONFIG = "config.json"


class FolderReader:
    """Base class of readers, which convert the folders of one format to Headlight's models."""

    requires_checksums = False  # whether a folder must have SHA256SUMS

    def convert_errors(self, folder: Path) -> AbstractContextManager[None]:
        """Return a context manager that converts unexpected exceptions while a third-party folder is read."""
        return nullcontext()

    def config(self, folder: Path, values: dict[str, Any]) -> Any:
        """Convert the folder's configuration to Headlight's."""
        raise NotImplementedError

    def store(self, folder: Path) -> Weights:
        """Return the folder's tensors."""
        return TensorStore(folder)

    def complete_config(self, config: Any, store: Weights) -> Any:
        """Complete the configuration from tensor shapes."""
        return config

    def build(self, config: Any) -> nn.Module:
        """Build the model. Called on the meta device, without memory for tensors."""
        raise NotImplementedError

    def tokenizers(self, folder: Path, config: Any) -> tuple[Vocabulary, Vocabulary]:
        """Load the source and the target vocabulary."""
        raise NotImplementedError

    def load_weight(self, store: Weights, name: str) -> Tensor:
        """Read the tensor of the parameter `name`. Raise a `MissingTensorError` if it is missing."""
        return store.read(name)

    def is_optional(self, name: str) -> bool:
        """Whether a stored tensor may be ignored, such as a table that Headlight computes."""
        return False

    def languages(self, folder: Path, config: Any, source: Vocabulary) -> Languages:
        """Return the languages of the model."""
        return Languages()

    def generation_defaults(self, folder: Path, config: Any, languages: Languages) -> GenerationDefaults:
        """Return the generation defaults of the model."""
        return GenerationDefaults()
