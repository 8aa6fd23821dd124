"""Probes: named points in the model that can be captured and edited.

A layer declares a probe, `self.weights = Probe("batch heads queries keys")`, and passes a tensor through it.
`watch` captures the tensors of matching probes inside a `with` block:

    with watch(model, "encoder.layers.*.self_attention.weights") as activations:
        model(source_ids, target_ids)
    activations["encoder.layers.0.self_attention.weights"]  # [batch, heads, queries, keys]

Probes also accept PyTorch's own hooks. These act on every run, so they disable the fast paths for all runs.
Watches nest: the outer edit runs first, and the inner watch sees its result. A watch acts only in the context that
opened it. PyTorch runs hooks in every thread that uses the model, so the hook of a watch first checks a `ContextVar`.
Therefore do not keep a watch open across a `yield`: a server may resume the generator in another context, in which the
watch has no effect and cannot be closed.
"""

from __future__ import annotations

import difflib
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from headlight.model.errors import ProbeError

Edit = Callable[[Tensor, str], Tensor]  # returns a new tensor, because an outer watch may have captured the old one


class Probe(nn.Module):
    """An identity module with a name. An active `watch` can capture or replace the tensor."""

    def __init__(self, axes: str) -> None:
        super().__init__()
        self.axes = tuple(axes.split())
        self._may_be_hooked = False  # True after the first hook that no watch registered

    def __call__(self, value: Tensor) -> Tensor:
        if self._may_be_hooked:
            output: Tensor = super().__call__(value)
            return output
        # A call of an empty nn.Module takes 0.5 µs, and twelve calls take a tenth of a small model's decoding step.
        if not self._forward_hooks:
            return value
        # Like PyTorch's loop, but over a copy, because other threads add and remove hooks. PyTorch's loop would then
        # fail with "OrderedDict mutated during iteration" and hide the exception of an edit.
        for hook in tuple(self._forward_hooks.values()):
            new_value = hook(self, (value,), value)
            value = value if new_value is None else new_value
        return value

    def forward(self, value: Tensor) -> Tensor:
        """Return the value unchanged. Only hooks change it."""
        return value

    @property
    def watched(self) -> bool:
        """Whether the current context watches this probe. Watches of other threads do not count.

        A user-registered hook counts in every context.
        """
        if self._may_be_hooked and self.has_user_hooks:
            return True
        watches = _active_watches.get()
        return bool(watches) and any(self in watch.names for watch in watches)

    @property
    def has_user_hooks(self) -> bool:
        """Whether a user-registered forward or backward hook is attached."""
        if not self._may_be_hooked:
            return False
        has_forward_hook = any(not isinstance(hook, _Hook) for hook in tuple(self._forward_hooks.values()))
        return has_forward_hook or bool(self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks)

    def register_forward_hook(self, hook: Callable[..., Any], **options: Any) -> RemovableHandle:
        """Register a hook as on any module. It acts on every run in every thread; use `watch` for a single run."""
        self._may_be_hooked |= not isinstance(hook, _Hook)
        return super().register_forward_hook(hook, **options)

    def register_forward_pre_hook(self, hook: Callable[..., Any], **options: Any) -> RemovableHandle:
        """Register a hook as on any module."""
        self._may_be_hooked = True
        return super().register_forward_pre_hook(hook, **options)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Register a hook as on any module."""
        self._may_be_hooked = True
        return super().register_full_backward_hook(hook, prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Register a hook as on any module."""
        self._may_be_hooked = True
        return super().register_full_backward_pre_hook(hook, prepend)

    def extra_repr(self) -> str:
        """Return the axes, for `print(model)`."""
        return " ".join(self.axes)


class Watchable(nn.Module):
    """A module whose probes are also plain attributes, for fast access.

    PyTorch looks up a submodule only after Python's normal lookup has failed. This takes a third of a microsecond,
    longer than the call of an unwatched probe.
    """

    def __setattr__(self, name: str, value: Tensor | nn.Module) -> None:
        super().__setattr__(name, value)
        if isinstance(value, Probe):
            self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        if name in self._modules:
            self.__dict__.pop(name, None)
        super().__delattr__(name)


class Watched(Mapping[str, Tensor]):
    """The captured tensors of a watch, by probe path: `activations[path]` is the last one, `passes(path)` returns all.

    If the watch has an edit, the tensors are those that the edit returned.
    """

    def __init__(self) -> None:
        self._passes: dict[str, list[Tensor]] = {}

    def __getitem__(self, name: str) -> Tensor:
        return self._passes[name][-1]

    def __iter__(self) -> Iterator[str]:
        return iter(self._passes)

    def __len__(self) -> int:
        return len(self._passes)

    def passes(self, name: str) -> list[Tensor]:
        """Return every tensor that passed this probe, oldest first."""
        return self._passes.get(name, [])

    def _add(self, name: str, value: Tensor) -> None:
        self._passes.setdefault(name, []).append(value)


class _WatchContext:
    """An open watch: its probes, captured tensors and edit."""

    def __init__(self, names: dict[Probe, str], edit: Edit | None) -> None:
        self.names = names
        self.edit = edit
        self.activations = Watched()

    def on_value(self, name: str, probe: Probe, value: Tensor) -> Tensor | None:
        if self not in _active_watches.get():
            return None  # the tensor belongs to another run
        if self.edit is None:
            self.activations._add(name, value)
            return None
        edited = self.edit(value, name)
        if not isinstance(edited, Tensor) or _get_signature(edited) != _get_signature(value):
            result = _format_signature(edited) if isinstance(edited, Tensor) else repr(type(edited).__name__)
            axes = " ".join(probe.axes)
            raise ProbeError(
                f"The edit of {name} returned {result}, but {_format_signature(value)} ({axes}) is required."
            )
        self.activations._add(name, edited)
        return edited


class _Hook:
    """The forward hook of one watched probe."""

    def __init__(self, watch: _WatchContext, name: str) -> None:
        self.watch = watch
        self.name = name

    def __call__(self, probe: Probe, arguments: tuple[Tensor, ...], value: Tensor) -> Tensor | None:
        return self.watch.on_value(self.name, probe, value)


def _get_signature(value: Tensor) -> tuple[torch.Size, torch.dtype, torch.device]:
    return value.shape, value.dtype, value.device


def _format_signature(value: Tensor) -> str:
    return f"{value.dtype} {list(value.shape)} on {value.device}".removeprefix("torch.")


_active_watches: ContextVar[tuple[_WatchContext, ...]] = ContextVar("watches", default=())
_probes_by_model: WeakKeyDictionary[nn.Module, dict[str, Probe]] = WeakKeyDictionary()
# PyTorch's hook counter is not thread-safe: two threads that register at once can get the same id and lose a hook.
_registration_lock = threading.Lock()


@contextmanager
def watch(model: nn.Module, *patterns: str, edit: Edit | None = None) -> Iterator[Watched]:
    """Watch every probe whose path matches a pattern; `edit(value, path)` may replace each tensor.

    In a pattern, `*` matches anything within one part of a path, and `**` matches zero or more parts.
    """
    if not patterns:
        raise ProbeError('Nothing to watch: name at least one probe or pattern; "**" matches every probe.')
    names_by_probe = {probe: name for name, probe in matching_probes(model, *patterns).items()}
    context = _WatchContext(names_by_probe, edit)
    handles = []
    token = _active_watches.set((*_active_watches.get(), context))
    try:
        with _registration_lock:
            for probe, name in names_by_probe.items():
                handles.append(probe.register_forward_hook(_Hook(context, name)))
        yield context.activations
    finally:
        with _registration_lock:
            for handle in handles:
                handle.remove()
        _active_watches.reset(token)


def is_editing() -> bool:
    """Whether the current context has an open watch with an edit."""
    return any(watch.edit is not None for watch in _active_watches.get())


def has_user_hooks(model: nn.Module) -> bool:
    """Whether any probe has a user-registered hook. Such hooks act on every run."""
    return any(probe.has_user_hooks for probe in all_probes(model).values())


def all_probes(model: nn.Module) -> dict[str, Probe]:
    """Return every probe of a model by its path."""
    if model not in _probes_by_model:
        _probes_by_model[model] = {name: module for name, module in model.named_modules() if isinstance(module, Probe)}
    return _probes_by_model[model]


def matching_probes(model: nn.Module, *patterns: str) -> dict[str, Probe]:
    """Return the probes whose path matches any of the patterns. A pattern without a match raises a `ProbeError`."""
    probes = all_probes(model)
    matching: dict[str, Probe] = {}
    for pattern in patterns:
        matches = _compile_pattern(pattern).fullmatch
        new_matches = {name: probe for name, probe in probes.items() if matches(name)}
        if not new_matches:
            raise ProbeError(_unknown_probe_error(pattern, list(probes)))
        matching |= new_matches
    return matching


@lru_cache(maxsize=256)
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    parts = re.escape(pattern).replace(r"\*\*\.", r"(?:.*\.)?").replace(r"\*\*", ".*")
    return re.compile(parts.replace(r"\*", r"[^.]*"))


def _unknown_probe_error(pattern: str, names: list[str]) -> str:
    nearest = difflib.get_close_matches(pattern, names, n=3, cutoff=0.0)
    if not nearest:
        return f"No probe matches {pattern!r}: this model has none."
    names_list = ", ".join(nearest)
    return f"No probe matches {pattern!r}. Nearest: {names_list}. * matches one part of a path, ** any number of parts."
