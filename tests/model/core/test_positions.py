"""Positional encodings: each against its published formula, and common requirements of all."""

from __future__ import annotations

import copy
import math
import pickle
import threading
from typing import Any

import pytest
import torch
from torch import Tensor

from headlight.model.core.attention import attention_scores
from headlight.model.core.config import POSITION_NAMES, TransformerConfig
from headlight.model.core.positions import (
    POSITIONS,
    AlibiPositions,
    LearnedPositions,
    Positions,
    RelativePositions,
    RotaryPositions,
    SinusoidalPositions,
    alibi_slopes,
    distance_buckets,
    make_positions,
    sinusoidal_table,
)
from headlight.model.core.probes import watch
from headlight.model.core.transformer import Transformer
from headlight.model.errors import ModelError, RequestError
from tests.compare import assert_close
from tests.sizes import (
    BATCH,
    D_MODEL,
    HEADS,
    KEYS,
    POSITION_WIDTH,
    QUERIES,
    SOURCE,
    SOURCE_VOCABULARY,
    TARGET,
    TARGET_VOCABULARY,
    small_config,
    tiny_config,
)

CONCATENATED = {"position_width": POSITION_WIDTH, "tie_output": False}  # concatenated to the embedding
VARIANTS: dict[str, dict[str, Any]] = {
    **{name: {"positions": name} for name in POSITION_NAMES},
    "sinusoidal beside": {"positions": "sinusoidal", **CONCATENATED},
    "halves beside": {"positions": "sinusoidal_halves", **CONCATENATED},
    "learned beside": {"positions": "learned", **CONCATENATED},
    "sinusoidal offset": {"positions": "sinusoidal", "position_offset": 2},
    "learned offset": {"positions": "learned", "position_offset": 2},
    "rotary offset": {"positions": "rotary", "position_offset": 2},
}


def make_config(variant: str, **fields: Any) -> TransformerConfig:
    """Return a configuration with an even head width, which rotary positions need."""
    return small_config(head_width=6, **(VARIANTS[variant] | fields))


def source_ids(length: int = SOURCE) -> Tensor:
    return torch.randint(3, SOURCE_VOCABULARY, (BATCH, length))


def target_ids(length: int = TARGET) -> Tensor:
    return torch.randint(3, TARGET_VOCABULARY, (BATCH, length))


def make_model(variant: str, **fields: Any) -> Transformer:
    return Transformer(make_config(variant, **fields)).eval()


# ---------------------------------------------------------------- sinusoids


@pytest.mark.parametrize("halves", [False, True], ids=["interleaved", "halves"])
@pytest.mark.parametrize("width", [2, 22, 23, 512])
def test_sinusoids_match_closed_form(width: int, halves: bool) -> None:
    table = sinusoidal_table(KEYS, width, halves=halves)
    expected = torch.zeros(KEYS, width, dtype=torch.float64)
    sines = math.ceil(width / 2)
    for position in range(KEYS):
        for column in range(width):
            angle = position / 10_000 ** (2 * (column // 2) / width)
            wave = math.sin(angle) if column % 2 == 0 else math.cos(angle)
            target_column = column if not halves else column // 2 + (sines if column % 2 else 0)
            expected[position, target_column] = wave
    assert_close(table, expected, tolerance=1e-7)


@pytest.mark.parametrize("width", [4, 22, 23])
def test_closed_waves_end_at_the_longest_wavelength(width: int) -> None:
    table, pairs = sinusoidal_table(KEYS, width, closed=True), width // 2
    expected = torch.zeros(KEYS, width, dtype=torch.float64)
    for position in range(KEYS):
        for pair in range(pairs):
            angle = position / 10_000 ** (pair / (pairs - 1))  # from 1 to 10,000
            expected[position, pair], expected[position, pairs + pair] = math.sin(angle), math.cos(angle)
    assert_close(table, expected, tolerance=1e-7)


def test_first_position_is_zeros_and_ones() -> None:
    assert sinusoidal_table(1, 6).tolist() == [[0, 1, 0, 1, 0, 1]]
    assert sinusoidal_table(1, 6, halves=True).tolist() == [[0, 0, 0, 1, 1, 1]]


@pytest.mark.parametrize("shift", [1, 3, 50])
def test_sinusoid_shift_is_a_rotation(shift: int) -> None:
    """PE(p + k) = M(k) · PE(p): M rotates each pair of columns by k / wavelength, independently of p."""
    width = 22
    rotation = torch.zeros(width, width, dtype=torch.float64)
    for pair in range(width // 2):
        angle = shift / 10_000 ** (2 * pair / width)
        sine, cosine = math.sin(angle), math.cos(angle)
        rotation[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = torch.tensor([[cosine, sine], [-sine, cosine]])
    table = sinusoidal_table(100 + shift, width).double()
    assert_close(table[shift:], table[:100] @ rotation.T, tolerance=1e-6)


def test_distant_positions_are_exact() -> None:
    """float32 angles would be off by 1e-3 at position 20,011."""
    assert_close(sinusoidal_table(20_012, 2)[-1], torch.tensor([math.sin(20_011), math.cos(20_011)]), tolerance=1e-7)


# ---------------------------------------------------------------- added and concatenated


def test_sinusoids_are_added_from_first_position() -> None:
    positions = make_positions(make_config("sinusoidal offset"), causal=False)
    embedded = torch.randn(BATCH, 5, D_MODEL)
    assert_close(
        positions(embedded, 3) - embedded, sinusoidal_table(10, D_MODEL)[5:].expand(BATCH, 5, D_MODEL), tolerance=1e-6
    )


@pytest.mark.parametrize("variant", ["sinusoidal beside", "halves beside", "learned beside"])
def test_concatenated_positions_follow_embedding(variant: str) -> None:
    positions = make_positions(make_config(variant), causal=False)
    embedded = torch.randn(BATCH, KEYS, D_MODEL - POSITION_WIDTH)
    whole = positions(embedded)
    assert whole.shape == (BATCH, KEYS, D_MODEL)
    assert torch.equal(whole[..., :-POSITION_WIDTH], embedded)
    assert torch.equal(whole[..., -POSITION_WIDTH:], positions.as_array(KEYS).expand(BATCH, KEYS, POSITION_WIDTH))


def test_learned_positions_are_trainable() -> None:
    model = make_model("learned", max_length=TARGET + 6)
    positions = model.decoder.embedding.positions
    assert isinstance(positions, LearnedPositions)
    assert positions.table.shape == (TARGET + 6, D_MODEL)
    embedded = torch.randn(BATCH, 3, D_MODEL)
    assert_close(positions(embedded, 2), embedded + positions.table[2:5])
    model(source_ids(), target_ids()).square().sum().backward()
    assert positions.table.grad is not None
    used = positions.table.grad.abs().sum(dim=1) > 0
    assert used.tolist() == [True] * TARGET + [False] * 6


@pytest.mark.parametrize("variant", ["learned", "learned offset"])
def test_text_beyond_learned_table_raises(variant: str) -> None:
    model = make_model(variant, max_length=SOURCE)
    model(source_ids(), target_ids())
    with pytest.raises(RequestError, match="text has 18 tokens, but at most 17 are read here"):
        model(source_ids(SOURCE + 1), target_ids())
    assert issubclass(RequestError, ModelError)
    state = model.decoder.new_state(model.encode(source_ids()), cached=True)
    for step in range(SOURCE):
        model.decoder(target_ids(1), state)
        assert state.length == step + 1
    with pytest.raises(RequestError, match="text has 18 tokens"):
        model.decoder(target_ids(1), state)


# ---------------------------------------------------------------- rotary


def rotary(**fields: Any) -> RotaryPositions:
    positions = make_positions(make_config("rotary", **fields), causal=False)
    assert isinstance(positions, RotaryPositions)
    return positions


def test_rotary_angle_is_proportional_to_position() -> None:
    vectors = torch.randn(BATCH, HEADS, KEYS, 6)
    rotated = rotary(rotary_base=500.0).rotate(vectors, start=2)
    for index in range(KEYS):
        for pair in range(3):
            angle = (2 + index) * 500.0 ** (-2 * pair / 6)
            first, second = vectors[:, :, index, 2 * pair], vectors[:, :, index, 2 * pair + 1]
            expected = torch.stack(
                [
                    first * math.cos(angle) - second * math.sin(angle),
                    first * math.sin(angle) + second * math.cos(angle),
                ],
                dim=-1,
            )
            assert_close(rotated[:, :, index, 2 * pair : 2 * pair + 2], expected, tolerance=1e-6)


def test_rotary_keeps_norms_and_first_position() -> None:
    vectors = torch.randn(BATCH, HEADS, KEYS, 6)
    rotated = rotary().rotate(vectors)
    assert_close(rotated.norm(dim=-1), vectors.norm(dim=-1))
    assert torch.equal(rotated[:, :, 0], vectors[:, :, 0])


def test_rotary_products_depend_only_on_distance() -> None:
    query, key = torch.randn(2, 6, dtype=torch.float64)
    turn = rotary().rotate
    queries = turn(query.expand(1, 1, 40, 6))  # the same query and key at every position
    keys = turn(key.expand(1, 1, 40, 6))
    products = (queries @ keys.transpose(-2, -1))[0, 0]
    for distance in range(-39, 40):
        diagonal = products.diagonal(distance)
        assert_close(diagonal, diagonal[:1].expand_as(diagonal), tolerance=1e-6)
    assert products[0].std() > 0.1  # they depend on the distance


@pytest.mark.parametrize("start", [0, 2])
def test_watched_rotary_positions_keep_the_offset(start: int) -> None:
    vectors = torch.randn(BATCH, HEADS, KEYS, 6)
    positions = rotary(position_offset=5)
    expected = positions.rotate(vectors, start)
    with watch(positions, "places") as seen:
        actual = positions.rotate(vectors, start)
    assert seen["places"].tolist() == list(range(start, start + KEYS))  # the offset is no position of a token
    assert_close(actual, expected, tolerance=1e-6)
    assert not torch.allclose(actual, rotary().rotate(vectors, start))


@pytest.mark.parametrize("start", [0, 2])
@pytest.mark.parametrize(
    "variant", ["sinusoidal", "sinusoidal_halves", "learned", "sinusoidal offset", "learned offset"]
)
def test_watched_added_positions_are_the_same(variant: str, start: int) -> None:
    positions = make_positions(make_config(variant), causal=False)
    embedded = torch.randn(BATCH, KEYS, D_MODEL)
    expected = positions(embedded, start)
    with watch(positions, "places") as seen:
        actual = positions(embedded, start)
    assert seen["places"].tolist() == list(range(start, start + KEYS))
    assert_close(actual, expected, tolerance=1e-6)
    assert (actual - embedded).abs().sum(dim=-1).min() > 0  # also at the first position


@pytest.mark.parametrize("start", [1, 7, 1_000])
def test_rotary_offsets_cancel(start: int) -> None:
    queries, keys = torch.randn(2, BATCH, HEADS, KEYS, 6)
    turn, turn_offset = rotary().rotate, rotary(position_offset=5).rotate
    here = attention_scores(turn(queries), turn(keys))
    assert_close(attention_scores(turn(queries, start), turn(keys, start)), here, tolerance=1e-5)
    assert_close(attention_scores(turn_offset(queries), turn_offset(keys)), here, tolerance=1e-5)


def test_cross_attention_is_not_rotated() -> None:
    """Source and target have no common position axis."""
    calls: list[int] = []

    class Counting(RotaryPositions):
        def rotate(self, vectors: Tensor, start: int = 0) -> Tensor:
            calls.append(vectors.shape[2])
            return super().rotate(vectors, start)

    model = make_model("rotary")
    model.decoder.embedding.positions = Counting(model.config)
    model(source_ids(), target_ids())
    assert calls == [TARGET, TARGET] * len(model.decoder.layers)


# ---------------------------------------------------------------- ALiBi


def test_alibi_slopes_match_paper() -> None:
    assert alibi_slopes(8).tolist() == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]
    assert alibi_slopes(1).tolist() == [1 / 256]
    assert alibi_slopes(2).tolist() == [1 / 16, 1 / 256]
    assert_close(alibi_slopes(16), torch.tensor([2 ** (-(i + 1) / 2) for i in range(16)]), tolerance=1e-7)


def test_alibi_slopes_between_powers_of_two() -> None:
    of_eight, of_sixteen = alibi_slopes(8).tolist(), alibi_slopes(16).tolist()
    assert alibi_slopes(12).tolist() == of_eight + of_sixteen[0:8:2]
    assert alibi_slopes(7).tolist() == alibi_slopes(4).tolist() + of_eight[0:6:2]
    assert alibi_slopes(3).tolist() == [*alibi_slopes(2).tolist(), 1 / 4]


@pytest.mark.parametrize("causal", [False, True])
def test_alibi_subtracts_slope_times_distance(causal: bool) -> None:
    positions = make_positions(make_config("alibi"), causal=causal)
    bias = positions.bias(5, KEYS)
    assert bias is not None
    assert bias.shape == (HEADS, 5, KEYS)
    slopes = alibi_slopes(HEADS).tolist()
    for head, query, key in [(0, 0, 0), (0, 4, 16), (1, 2, 3), (3, 0, 16), (6, 4, 0)]:
        distance = abs(key - (KEYS - 5 + query))
        assert bias[head, query, key].item() == pytest.approx(-slopes[head] * distance, abs=1e-6)


# ---------------------------------------------------------------- T5


def bucket_by_rule(distance: int, buckets: int, max_distance: int, *, causal: bool) -> int:
    """Buckets of T5: half of them are single distances; bucket e + i of the other n − e starts at distance
    e · (m / e)^(i / (n − e)); distances above m share one. If bidirectional, half of the buckets are for later keys."""
    side = 0
    if causal:
        distance = max(-distance, 0)
    else:
        buckets //= 2
        side = buckets if distance > 0 else 0
        distance = abs(distance)
    exact = buckets // 2
    if distance < exact:
        return side + distance
    bucket = exact
    # 1e-6: at boundaries, T5 rounds in float32
    while bucket + 1 < buckets and distance * (1 + 1e-6) >= exact * (max_distance / exact) ** (
        (bucket + 1 - exact) / (buckets - exact)
    ):
        bucket += 1
    return side + bucket


@pytest.mark.parametrize("causal", [False, True], ids=["two-way", "one-way"])
@pytest.mark.parametrize(("buckets", "max_distance"), [(32, 128), (17, 67), (8, 20), (4, 5)])
def test_distance_buckets_match_t5(buckets: int, max_distance: int, causal: bool) -> None:
    distances = torch.arange(-300, 301)
    actual = distance_buckets(distances, buckets, max_distance, causal=causal).tolist()
    expected = [bucket_by_rule(distance, buckets, max_distance, causal=causal) for distance in distances.tolist()]
    assert actual == expected
    assert min(actual) >= 0
    assert max(actual) < buckets


def test_t5_bucket_values() -> None:
    def bucket(distance: int, *, causal: bool) -> int:
        return int(distance_buckets(torch.tensor(distance), 32, 128, causal=causal))

    assert [bucket(-d, causal=True) for d in (0, 1, 15, 16, 127, 128, 1000)] == [0, 1, 15, 16, 31, 31, 31]
    assert [bucket(d, causal=True) for d in (1, 1000)] == [0, 0]  # the decoder is causal
    assert [bucket(-d, causal=False) for d in (0, 1, 7, 8, 1000)] == [0, 1, 7, 8, 15]
    assert [bucket(d, causal=False) for d in (1, 7, 8, 1000)] == [17, 23, 24, 31]


@pytest.mark.parametrize("causal", [False, True])
def test_relative_bias_is_learned_per_head_and_bucket(causal: bool) -> None:
    config = make_config("relative", relative_buckets=8, relative_max_distance=20)
    positions = make_positions(config, causal=causal)
    assert isinstance(positions, RelativePositions)
    assert positions.table.shape == (8, HEADS)
    bias = positions.bias(5, KEYS)
    assert bias.shape == (HEADS, 5, KEYS)
    for head, query, key in [(0, 0, 0), (0, 4, 16), (1, 2, 3), (3, 0, 16), (6, 4, 0)]:
        distance = key - (KEYS - 5 + query)
        bucket = bucket_by_rule(distance, 8, 20, causal=causal)
        assert bias[head, query, key] == positions.table[bucket, head]


def test_relative_bias_is_shared_by_layers_of_each_stack() -> None:
    model = make_model("relative")
    names = [name for name, _ in model.named_parameters() if "positions" in name]
    assert names == ["encoder.embedding.positions.table", "decoder.embedding.positions.table"]
    model(source_ids(), target_ids()).square().sum().backward()
    for name in names:
        gradient = model.get_parameter(name).grad
        assert gradient is not None
        assert gradient.abs().max() > 0


def test_buckets_are_bidirectional_only_in_encoder() -> None:
    """One-way buckets are finer, because they do not include later keys."""
    model = make_model("relative")
    encoder, decoder = model.encoder.embedding.positions, model.decoder.embedding.positions
    assert isinstance(encoder, RelativePositions)
    assert isinstance(decoder, RelativePositions)
    assert (encoder.causal, decoder.causal) == (False, True)
    ahead, behind = encoder.as_array(KEYS)[:, 3, 5], encoder.as_array(KEYS)[:, 5, 3]
    assert not torch.equal(ahead, behind)
    assert torch.equal(decoder.as_array(KEYS)[:, 3, 5], decoder.as_array(KEYS)[:, 3, 3])


# ---------------------------------------------------------------- all of them


def test_registry_matches_configuration_names() -> None:
    assert tuple(POSITIONS) == POSITION_NAMES


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_encoding_uses_only_its_hook(variant: str) -> None:
    config = make_config(variant)
    positions = make_positions(config, causal=True)
    embedded, vectors = torch.randn(BATCH, KEYS, config.embedding_width), torch.randn(BATCH, HEADS, KEYS, 6)
    doors = {
        "added": positions(embedded) is not embedded,
        "rotating": positions.rotate(vectors) is not vectors,
        "biasing": positions.bias(QUERIES, KEYS) is not None,
    }
    kind = variant.split()[0]
    door = {"none": None, "rotary": "rotating", "alibi": "biasing", "relative": "biasing"}.get(kind, "added")
    assert [name for name, used in doors.items() if used] == ([] if door is None else [door])


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_encoding_has_a_figure(variant: str) -> None:
    positions = make_positions(make_config(variant), causal=False)
    picture = positions.as_array(QUERIES)
    assert not picture.requires_grad
    if variant in ("alibi", "relative"):
        assert picture.shape == (HEADS, QUERIES, QUERIES)
        bias = positions.bias(QUERIES, QUERIES)
        assert bias is not None
        assert torch.equal(picture, bias)
        return
    width = {"none": 0, "rotary": 6}.get(variant.split()[0], POSITION_WIDTH if "beside" in variant else D_MODEL)
    assert picture.shape == (QUERIES, width)
    if isinstance(positions, SinusoidalPositions | LearnedPositions) and width == D_MODEL:
        assert torch.equal(positions(torch.zeros(1, QUERIES, D_MODEL))[0], picture)
    if isinstance(positions, RotaryPositions):  # rotating (1, 0) by an angle gives its cosine and sine
        units = torch.tensor([1.0, 0.0]).repeat(3).expand(1, 1, QUERIES, 6)
        rotated = positions.rotate(units)[0, 0].unflatten(1, (3, 2)).flip(-1).flatten(1)
        assert_close(rotated, picture, tolerance=1e-6)


def test_figure_does_not_modify_encoding() -> None:
    positions = make_positions(make_config("sinusoidal"), causal=False)
    assert isinstance(positions, SinusoidalPositions)
    positions(torch.zeros(1, 3, D_MODEL, dtype=torch.bfloat16))
    table = positions.table
    assert positions.as_array(500).dtype == torch.float32
    assert positions.table is table


@pytest.mark.parametrize("chunks", [(1,) * TARGET, (3, 1, 1, 8)], ids=["word by word", "in chunks"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_cached_steps_match_full_pass(variant: str, chunks: tuple[int, ...]) -> None:
    model, source, target = make_model(variant), source_ids(), target_ids()
    source[1, 5:] = model.config.pad_id
    with torch.inference_mode():
        whole = model(source, target)
        state = model.decoder.new_state(model.encode(source), cached=True)
        steps = [model.decoder(part, state) for part in target.split(list(chunks), dim=1)]
    assert state.length == TARGET
    assert_close(torch.cat(steps, dim=1), whole, of=f"steps with {variant} positions")


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != "none"])
def test_every_encoding_is_sensitive_to_order(variant: str) -> None:
    model, ids = make_model(variant), torch.arange(3, 3 + SOURCE)[None]
    order = torch.randperm(SOURCE)
    gap = (model.encode(ids[:, order]).vectors - model.encode(ids).vectors[:, order]).abs().max()
    assert gap > 1e-3


def test_encoder_without_positions_is_permutation_equivariant() -> None:
    model, ids = make_model("none"), torch.arange(3, 3 + SOURCE)[None]
    order = torch.randperm(SOURCE)
    assert_close(model.encode(ids[:, order]).vectors, model.encode(ids).vectors[:, order])


@pytest.mark.parametrize("variant", [name for name in VARIANTS if not name.startswith("learned")])
def test_unlimited_encodings_extend_their_table(variant: str) -> None:
    long = 151
    model = Transformer(
        tiny_config(**VARIANTS[variant] | ({"position_width": 3} if "beside" in variant else {}))
    ).eval()
    source, target = source_ids(3), target_ids(long)
    fresh = copy.deepcopy(model)
    with torch.inference_mode():
        state = model.decoder.new_state(model.encode(source), cached=True)
        steps = torch.cat([model.decoder(word, state) for word in target.split(1, dim=1)], dim=1)
        assert_close(steps, fresh(source, target))
        assert_close(model(source, target), steps)


def test_longer_table_extends_shorter_one() -> None:
    positions = make_positions(make_config("sinusoidal"), causal=False)
    assert isinstance(positions, SinusoidalPositions)
    before = positions.table.clone()
    positions(torch.zeros(1, 200, D_MODEL))
    assert len(positions.table) >= 200
    assert torch.equal(positions.table[: len(before)], before)


# ---------------------------------------------------------------- derived tables


@pytest.mark.slow(after=8)
@pytest.mark.parametrize("length", [TARGET, 101], ids=["as built", "grown"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_tables_from_inference_mode_support_training(variant: str, length: int) -> None:
    """PyTorch does not save inference tensors for the backward pass."""
    model, source, target = make_model(variant), source_ids(), target_ids(length)
    with torch.inference_mode():
        model(source, target)
        model.bfloat16()(source, target)
    model.float().train()
    model(source, target).square().mean().backward()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in model.parameters())


@pytest.mark.parametrize("variant", ["sinusoidal", "sinusoidal_halves", "rotary"])
def test_tables_are_not_inference_tensors(variant: str) -> None:
    positions = make_positions(make_config(variant), causal=False)
    with torch.inference_mode():
        for dtype in (torch.float32, torch.bfloat16):
            positions(torch.zeros(1, 101, D_MODEL, dtype=dtype))
            positions.rotate(torch.zeros(1, 1, 101, 6, dtype=dtype))
    tables = positions.cos_sin_tables if isinstance(positions, RotaryPositions) else (positions.table,)
    assert not any(table.is_inference() for table in tables)  # type: ignore[union-attr]
    assert len(tables[0]) >= 101  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("variant", ["sinusoidal", "sinusoidal_halves", "rotary"])
def test_tables_are_exact_after_half_precision(variant: str, dtype: torch.dtype) -> None:
    positions = make_positions(make_config(variant), causal=False)
    embedded, vectors = torch.randn(BATCH, KEYS, D_MODEL), torch.randn(BATCH, HEADS, KEYS, 6)
    before = positions(embedded), positions.rotate(vectors)
    for _ in range(2):
        assert positions(embedded.to(dtype)).dtype == dtype
        assert positions.rotate(vectors.to(dtype)).dtype == dtype
        assert torch.equal(positions(embedded), before[0])
        assert torch.equal(positions.rotate(vectors), before[1])


@pytest.mark.parametrize("variant", VARIANTS)
def test_half_precision_is_close_to_float32(variant: str, device: str) -> None:
    model, source, target = make_model(variant).to(device), source_ids().to(device), target_ids().to(device)
    with torch.inference_mode():
        expected = model(source, target)
        actual = model.bfloat16()(source, target)
    assert actual.dtype == torch.bfloat16
    assert_close(actual, expected, tolerance=0.1)


@pytest.mark.parametrize("variant", VARIANTS)
def test_autocast_trains_and_is_close_to_float32(variant: str) -> None:
    model, source, target = make_model(variant), source_ids(), target_ids()
    expected = model(source, target)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert_close(model(source, target), expected, tolerance=0.1)
        state = model.decoder.new_state(model.encode(source), cached=True)
        steps = [model.decoder(word, state) for word in target.split(1, dim=1)]
        assert_close(torch.cat(steps, dim=1), expected, tolerance=0.1)
        loss = model.train()(source, target).float().square().mean()
    loss.backward()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in model.parameters())


@pytest.mark.parametrize("variant", VARIANTS)
def test_tables_follow_device(variant: str) -> None:
    """The meta device replaces a GPU, because it rejects CPU tensors."""
    model = make_model(variant).to("meta")
    mask = torch.ones(BATCH, 1, 1, SOURCE, dtype=torch.bool, device="meta")
    logits = model(source_ids().to("meta"), target_ids(101).to("meta"), mask)
    assert logits.device.type == "meta"
    assert logits.shape == (BATCH, 101, TARGET_VOCABULARY)
    model.encoder.embedding.positions.as_array(3)
    back = model.to_empty(device="cpu")
    back.reset_parameters()
    assert back(source_ids(), target_ids()).device.type == "cpu"


@pytest.mark.parametrize("variant", VARIANTS)
def test_copies_and_pickles_give_same_output(variant: str) -> None:
    model, source, target = make_model(variant), source_ids(), target_ids(67)
    expected = model(source, target)
    assert torch.equal(copy.deepcopy(model)(source, target), expected)
    assert torch.equal(pickle.loads(pickle.dumps(model))(source, target), expected)  # noqa: S301 - our own bytes


@pytest.mark.parametrize("variant", ["sinusoidal", "rotary"])
def test_table_growth_is_thread_safe(variant: str) -> None:
    positions = make_positions(make_config(variant), causal=False)
    lengths = [5, 67, 300, 131, 1_009, 65, 599, 2]

    def through(door: Positions, length: int) -> Tensor:
        return door(torch.ones(1, length, D_MODEL)).sum() + door.rotate(torch.ones(1, 1, length, 6)).sum()

    expected = [through(make_positions(make_config(variant), causal=False), length) for length in lengths]
    wrong: list[int] = []

    def work() -> None:
        for _ in range(10):
            wrong.extend(
                n for n, want in zip(lengths, expected, strict=True) if not torch.equal(through(positions, n), want)
            )

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("name", ["none", "sinusoidal", "sinusoidal_halves", "rotary", "alibi"])
def test_derived_tables_are_not_saved(name: str) -> None:
    model = make_model(name)
    model(source_ids(), target_ids(101))
    assert not [entry for entry in model.state_dict() if "positions" in entry]
    assert isinstance(make_positions(make_config("alibi"), causal=True), AlibiPositions)


# ---------------------------------------------------------------- one bias per layer


def test_each_layer_adds_its_own_positions() -> None:
    shared = RelativePositions(small_config(positions="relative"), causal=True)
    config = small_config(positions="relative", relative_each_layer=True)
    per_layer = RelativePositions(config, causal=True)
    assert per_layer.table.shape == (config.decoder_layers, *shared.table.shape)
    biases = per_layer.biases(5, KEYS, config.decoder_layers)
    assert len(biases) == config.decoder_layers > 1
    for layer, bias in enumerate(biases):
        shared.table.data = per_layer.table.data[layer]
        assert_close(bias, shared.bias(5, KEYS), of=f"layer {layer}")
    single_layer = RelativePositions(
        small_config(positions="relative", relative_each_layer=True, decoder_layers=1), causal=True
    )
    assert single_layer.table.shape == shared.table.shape
