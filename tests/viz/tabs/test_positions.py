"""The Positions tab: figures match the model's arithmetic, and untrained encodings are not drawn."""

from __future__ import annotations

import base64
import json
import math
from dataclasses import replace
from typing import Any

import gradio as gr
import numpy as np
import pytest

from headlight.model.core.positions import POSITIONS, make_positions
from headlight.model.experiments.encodings import make_encoding_array, periods
from headlight.model.records import FloatArray
from headlight.viz.errors import PageError
from headlight.viz.server.calls import CallTable
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from headlight.viz.tabs.positions import build, drawing_form, encoding_json
from tests.viz.local_translator import local_translator

LENGTH = 13
ASKED = {"model": "toy", "theme": "light", "language": "en", "length": LENGTH}


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings(model="toy"))


def unpacked(numbers: dict[str, str]) -> FloatArray:
    """An array as Plotly packs it."""
    values = np.frombuffer(base64.b64decode(numbers["bdata"]), dtype=f"<{numbers['dtype']}")
    return values.reshape([int(side) for side in numbers["shape"].split(",")])


@pytest.mark.parametrize("encoding", POSITIONS)
def test_every_encoding_renders_in_both_languages_and_themes(service: Service, encoding: str) -> None:
    for language in ("en", "zh"):
        for theme in ("light", "dark"):
            values = ASKED | {"encoding": encoding, "language": language, "theme": theme}
            answer = encoding_json(service, values)
            json.dumps(answer, allow_nan=False)
            assert answer["encoding"] == encoding
            assert (answer["figure"] is None) == (encoding in ("none", "learned"))


def test_model_encoding_is_first_and_default(service: Service) -> None:
    answer = encoding_json(service, ASKED)
    own = local_translator(service, "toy").model.config.positions
    assert answer["encoding"] == answer["own"] == answer["choices"][0] == own
    assert sorted(answer["choices"]) == sorted(POSITIONS)


@pytest.mark.parametrize("encoding", ["sinusoidal", "sinusoidal_halves", "rotary", "alibi"])
def test_displayed_numbers_match_model_code(service: Service, encoding: str) -> None:
    config = replace(local_translator(service, "toy").model.config, positions=encoding)
    expected = make_positions(config, causal=False).as_array(LENGTH).numpy()
    figure = encoding_json(service, ASKED | {"encoding": encoding})["figure"]
    displayed = unpacked(figure["data"][0]["z"])
    np.testing.assert_array_equal(displayed, expected[0] if expected.ndim == 3 else expected)
    if expected.ndim == 2:
        np.testing.assert_allclose(unpacked(figure["data"][1]["z"]), expected @ expected.T, atol=1e-5)


def test_untrained_encodings_are_not_drawn(service: Service) -> None:
    config = local_translator(service, "toy").model.config
    assert encoding_json(service, ASKED | {"encoding": "learned"})["form"] == "untrained"
    assert make_encoding_array(config, "learned", LENGTH).size == 0
    buckets = make_encoding_array(config, "relative", LENGTH)
    assert buckets.shape == (1, LENGTH, LENGTH)
    np.testing.assert_array_equal(buckets[0, 5, :6], [5, 4, 3, 2, 1, 0])  # near by, each distance has its own
    assert buckets[0, 5, 6] == config.relative_buckets // 2 + 1  # the other side starts at 0


def test_learned_positions_are_shown(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(local_translator(service, "toy").model.config, positions="learned", max_length=11)
    learnt = make_positions(config, causal=False)

    class Trained:
        class model:  # noqa: N801
            class encoder:  # noqa: N801
                class embedding:  # noqa: N801
                    positions = learnt

    Trained.model.config = config  # type: ignore[attr-defined]
    monkeypatch.setattr(service, "model_info", lambda name: Trained)
    monkeypatch.setattr(service, "run_on_translator", lambda name, work, *arguments: work(Trained, *arguments))
    answer = encoding_json(service, ASKED)
    assert (answer["form"], answer["trained"], answer["length"]) == ("table", True, 11)
    table = learnt.table.detach().numpy()  # type: ignore[operator, union-attr]
    np.testing.assert_array_equal(unpacked(answer["figure"]["data"][0]["z"]), table)
    assert drawing_form("relative", is_trained=True) == "bias"


@pytest.mark.parametrize("encoding", ["sinusoidal", "sinusoidal_halves", "rotary"])
def test_waves_are_periodic(service: Service, encoding: str) -> None:
    config = replace(local_translator(service, "toy").model.config, rotary_base=500.0)
    table = make_encoding_array(config, encoding, 97)
    lengths = periods(config, encoding)
    assert lengths is not None
    assert len(lengths) == table.shape[1]
    positions = np.arange(97)
    for dimension, length in enumerate(lengths):
        angles = 2 * math.pi * positions / length
        wave = table[:, dimension]
        assert min(np.abs(wave - np.sin(angles)).max(), np.abs(wave - np.cos(angles)).max()) < 1e-4


def test_only_model_encoding_has_closed_waves_and_offset(service: Service) -> None:
    own = {"positions": "sinusoidal_halves", "closed_waves": True, "position_offset": 2}
    config = replace(local_translator(service, "toy").model.config, **own)
    plain = replace(config, closed_waves=False, position_offset=0)
    for encoding in set(POSITIONS) - {"sinusoidal_halves"}:
        np.testing.assert_array_equal(
            make_encoding_array(config, encoding, LENGTH), make_encoding_array(plain, encoding, LENGTH)
        )
    table, lengths = make_encoding_array(config, "sinusoidal_halves", LENGTH), periods(config, "sinusoidal_halves")
    assert lengths is not None
    angles = 2 * math.pi * (np.arange(LENGTH)[:, None] + 2) / np.array(lengths)
    half = len(lengths) // 2
    np.testing.assert_allclose(table[:, :half], np.sin(angles[:, :half]), atol=1e-5)
    np.testing.assert_allclose(table[:, half:], np.cos(angles[:, half:]), atol=1e-5)


def test_encodings_without_waves_have_no_period(service: Service) -> None:
    config = local_translator(service, "toy").model.config
    assert [periods(config, name) for name in ("none", "learned", "alibi", "relative")] == [None] * 4


def test_encoding_arrays_are_cached_and_read_only(service: Service) -> None:
    config = local_translator(service, "toy").model.config
    first = make_encoding_array(config, "alibi", 7)
    assert make_encoding_array(config, "alibi", 7) is first
    assert not first.flags.writeable


def test_buckets_are_formatted_as_integers(service: Service) -> None:
    values = ASKED | {"encoding": "relative"}
    english = encoding_json(service, values)["figure"]["data"][0]["hovertemplate"]
    chinese = encoding_json(service, values | {"language": "zh"})["figure"]["data"][0]["hovertemplate"]
    assert english == "query %{y}, key %{x}: bucket %{z:.0f}<extra></extra>"
    assert "桶" in chinese


@pytest.mark.parametrize(
    ("wrong", "field", "word"),
    [
        ({"model": "../toy"}, "model", "not_choice"),
        ({"model": ["toy"]}, "model", "not_choice"),
        ({"model": "sentiment"}, "model", "not_choice"),
        ({"encoding": "fourier"}, "encoding", "not_choice"),
        ({"encoding": 3}, "encoding", "not_choice"),
        ({"theme": "pink"}, "theme", "not_choice"),
        ({"language": None}, "language", "not_choice"),
        ({"length": 1}, "length", "not_whole"),
        ({"length": 101}, "length", "not_whole"),
        ({"length": True}, "length", "not_whole"),
        ({"length": "13"}, "length", "not_whole"),
        ({"length": None}, "length", "not_whole"),
    ],
)
def test_browser_values_are_validated(service: Service, wrong: dict[str, Any], field: str, word: str) -> None:
    with pytest.raises(PageError) as error_info:
        encoding_json(service, ASKED | wrong)
    assert (error_info.value.field, error_info.value.word) == (field, word)


def test_building_tab_loads_no_model() -> None:
    fresh = Service(Settings(model="toy"))
    assert isinstance(build(fresh, CallTable(threads=1)), gr.HTML)
    assert fresh.loaded.cache.keys() == []
