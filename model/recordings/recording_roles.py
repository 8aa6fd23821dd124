"""Roles of the heads of any model over a list of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headlight.model.measures.roles import ROLES, RoleName, assign_roles
from headlight.model.recordings.recording import Recording, RecordingError
from headlight.model.recordings.recording_measures import recorded_role_shares
from headlight.model.records import FloatArray, Kind, MapKind

# In a model with one text, the token of a row is its input, not the next token. The roles have other names there.
NAMES_IN_ONE_TEXT: dict[str, RoleName] = {"just_written": "same", "back_two": "previous"}


@dataclass(frozen=True)
class HeadRole:
    """The role of a head, by its mean shares over some sentences."""

    kind: MapKind
    layer: int  # layer number in the model
    head: int
    role: RoleName
    share: float  # mean weight of a row on the cells of the role
    stability: float  # share of the sentences in which the head has this role


def roles_of_recordings(recordings: Sequence[Recording]) -> list[HeadRole]:
    """Return the role of each head of each kind, from recordings of one model."""
    if not recordings:
        raise RecordingError("There are no sentences. Give a list of them, such as ['a sentence', 'another one'].")
    return [role for kind in recordings[0].kinds for role in _assign_kind_roles(recordings, kind)]


def _assign_kind_roles(recordings: Sequence[Recording], kind: MapKind) -> list[HeadRole]:
    parts = [recorded_role_shares(recording, kind) for recording in recordings]
    measured_kind: Kind = parts[0][0]
    shares, chances, coverage = (
        np.stack([getattr(part, name) for _, part in parts]) for name in ("shares", "chances", "coverage")
    )
    names, values = assign_roles(measured_kind, _mean(shares), _mean(chances), _mean(coverage))
    stability = np.mean(
        [assign_roles(measured_kind, part.shares, part.chances, part.coverage)[0] == names for _, part in parts], axis=0
    )
    assert shares.shape[-1] == len(ROLES[measured_kind])  # noqa: S101 (all sentences have one kind)
    numbers = recordings[0].of(kind).numbers
    role_names = NAMES_IN_ONE_TEXT if kind == "self" else {}
    return [
        HeadRole(
            kind,
            numbers[layer],
            head,
            role_names.get(name, name),
            float(values[layer, head]),
            float(stability[layer, head]),
        )
        for (layer, head), name in np.ndenumerate(names)
    ]


def _mean(values: FloatArray) -> FloatArray:
    """Return the mean over the sentences that have the value, or NaN."""
    counts = (~np.isnan(values)).sum(axis=0)
    totals = np.nansum(values, axis=0, dtype=np.float64)
    return np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)
