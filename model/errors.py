"""Everything that can go wrong with a request, a model or a file, in words for the person who can mend it.

A message says what was given, what is wrong with it, and what to do.
Only the page and the command line catch these; whatever else is raised is our own fault.
"""


class ModelError(Exception):
    """The base of every error that Headlight raises on purpose: one line that can be printed.

    Parts of a message come from files and requests of strangers, and go into logs and onto terminals.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__("".join(letter if letter.isprintable() else "�" for letter in message))


class ConfigError(ModelError):
    """A configuration that no model can be built from."""


class CheckpointError(ModelError):
    """A model folder that cannot be loaded or written."""


class TokenizerError(ModelError):
    """A vocabulary that cannot be trained, read or used."""


class RequestError(ModelError):
    """A sentence, option or intervention that cannot be served; `field` names the one at fault."""

    def __init__(self, message: str, *, field: str = "text") -> None:
        super().__init__(message)
        self.field = field


class ProbeError(ModelError):
    """A pattern that matches no probe, or an edit that does not fit its place."""


class DeviceError(ModelError):
    """A device that is not there, or has no memory left."""


class TrainingError(ModelError):
    """A corpus or a training run that cannot go on."""
