"""Measures and roles of the heads of a `Recording`, as for Headlight's own translations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from headlight.model.measures.roles import RoleShares, role_shares
from headlight.model.measures.statistics import MapGeometry, induction_share, measure_weights
from headlight.model.recordings.inspection import is_causal
from headlight.model.recordings.recording import Maps, Recording
from headlight.model.records import FloatArray, Kind, MapKind, Token


@dataclass(frozen=True)
class RecordedMaps:
    """The maps of one kind, with the attributes of a `Translation` that the measures use."""

    recording: Recording
    kind: MapKind

    @property
    def measured_kind(self) -> Kind:
        """The kind whose measures apply: that of a decoder for causal self-attention."""
        if self.kind != "self":
            return self.kind
        return "decoder" if is_causal(self._maps.allowed) and len(self.recording.source) > 1 else "encoder"

    @property
    def attention(self) -> RecordedMaps:
        return self

    def of(self, _: Kind) -> FloatArray:
        """Return the weights `[layer, head, row, column]`."""
        return np.stack([self._maps.layer(index) for index in range(len(self._maps.layers))])

    def allowed(self, _: Kind) -> Any:
        """Return the unmasked cells `[row, column]`."""
        return self._maps.allowed

    @property
    def cross(self) -> FloatArray:
        return self.of("cross")

    @property
    def source_tokens(self) -> tuple[Token, ...]:
        return self.recording.source

    @property
    def target_tokens(self) -> tuple[Token, ...]:
        return self.recording.target

    @property
    def decoder_tokens(self) -> tuple[Token, ...]:
        return self.recording.columns(self.kind)

    @property
    def _maps(self) -> Maps:
        return self.recording.of(self.kind)


def measure_recording(recording: Recording, kind: MapKind) -> dict[str, FloatArray]:
    """Compute all measures of one kind that apply, name → `[layer, head]`."""
    maps = RecordedMaps(recording, kind)
    weights, columns = maps.of(maps.measured_kind), recording.columns(kind)
    geometry = MapGeometry(maps.measured_kind, recording.of(kind).allowed, columns)
    results = measure_weights(weights, geometry)
    if kind != "cross":
        results["induction"] = induction_share(weights, geometry)
    return results


def recorded_role_shares(recording: Recording, kind: MapKind) -> tuple[Kind, RoleShares]:
    """Return the kind whose roles apply, and the role shares of all heads."""
    maps = RecordedMaps(recording, kind)
    return maps.measured_kind, role_shares(maps, maps.measured_kind)  # type: ignore[arg-type]
