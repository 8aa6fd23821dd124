from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from headlight.model.checkpoints import checkpoint as checkpoint_module
from headlight.model.checkpoints.checkpoint import FolderReader, ModelKind, save_checkpoint
from headlight.model.checkpoints.checksums import CHECKSUMS_FILE, weights_digest
from headlight.model.checkpoints.storage import TensorStore, encode_tensor, write_weights
from headlight.model.core.config import POSITION_NAMES, TransformerConfig
from headlight.model.core.transformer import Transformer
from headlight.model.errors import CheckpointError, ConfigError, ModelError
from headlight.model.families import loading
from headlight.model.families.loading import load_checkpoint, read_checkpoint
from headlight.model.text.tokenizer import Tokenizer
from tests.loading import measure_loading, needs_proc
from tests.sums import SHA256SUM

LINES = ["Ein Hund läuft durch den Schnee.", "A dog runs through the snow.", "Two dogs, zwei Hunde."] * 3
WEIGHTS = "model.safetensors"
Damage = Callable[[Path], Any]


@pytest.fixture(scope="module")
def source() -> Tokenizer:
    return Tokenizer.train(LINES, 263)


@pytest.fixture(scope="module")
def target() -> Tokenizer:
    return Tokenizer.train(LINES, 269)


@pytest.fixture(scope="module")
def model(source: Tokenizer, target: Tokenizer) -> Transformer:
    return make_model(source, target)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory, model: Transformer, source: Tokenizer, target: Tokenizer) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "de-en"
    save_checkpoint(folder, model, source, target, storage="float32", card="# Card\n")
    return folder


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory, model: Transformer, source: Tokenizer, target: Tokenizer) -> Path:
    folder = tmp_path_factory.mktemp("sharded") / "de-en"
    save_checkpoint(folder, model, source, target, storage="float32", shard_bytes=10_000)
    return folder


def make_model(source: Tokenizer, target: Tokenizer, **changes: Any) -> Transformer:
    torch.manual_seed(0)
    sizes = {"d_model": 22, "heads": 2, "d_ff": 31, "encoder_layers": 1, "decoder_layers": 2, "max_length": 37}
    return Transformer(
        TransformerConfig(
            source_vocabulary=source.vocabulary_size, target_vocabulary=target.vocabulary_size, **(sizes | changes)
        )
    ).eval()


def logits(model: nn.Module) -> torch.Tensor:
    ids = torch.tensor([[5, 7, 11, 13], [17, 19, 2, 0]])
    with torch.inference_mode():
        outputs: torch.Tensor = model(ids, ids[:, :3])
    return outputs


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def sign(folder: Path) -> None:
    names = sorted(path.name for path in folder.iterdir() if path.name != "SHA256SUMS")
    sums = subprocess.run([*SHA256SUM, *names], cwd=folder, check=True, capture_output=True, text=True).stdout
    (folder / "SHA256SUMS").write_text(sums)


# ------------------------------------------------------------ roundtrips


@pytest.mark.parametrize("positions", POSITION_NAMES)
def test_float32_roundtrips_exactly_with_every_position_encoding(
    tmp_path: Path, source: Tokenizer, target: Tokenizer, positions: str
) -> None:
    model = make_model(source, target, positions=positions, heads=1)
    save_checkpoint(tmp_path / "model", model, source, target, storage="float32")
    loaded = load_checkpoint(tmp_path / "model")
    assert loaded.config == model.config
    assert loaded.model.state_dict().keys() == model.state_dict().keys()
    assert torch.equal(logits(loaded.model), logits(model))
    stored = load_file(tmp_path / "model" / WEIGHTS)
    assert (
        sum(tensor.numel() for tensor in stored.values()) == model.parameter_count()
    )  # no derived and no duplicate tensors


@pytest.mark.parametrize(
    "changes",
    [
        {"tie_output": False, "final_logits_bias": True},
        {"tie_output": True, "final_logits_bias": True},
        {"tie_output": True, "share_embeddings": True},
        {"tie_output": False, "share_embeddings": True},
        {"norm": "rms", "norm_first": True, "final_norm": True, "activation": "swiglu", "attention_bias": False},
    ],
)
def test_tied_weights_are_stored_once_and_stay_tied(tmp_path: Path, source: Tokenizer, changes: dict[str, Any]) -> None:
    model = make_model(source, source, **changes)
    save_checkpoint(tmp_path / "model", model, source, source, storage="float32")
    loaded = load_checkpoint(tmp_path / "model").model
    decoder = loaded.decoder
    assert (decoder.output.words.weight is decoder.embedding.table.weight) == model.config.tie_output
    assert (decoder.embedding.table.weight is loaded.encoder.embedding.table.weight) == model.config.share_embeddings
    assert loaded.parameter_count() == model.parameter_count()
    assert torch.equal(logits(loaded), logits(model))


def test_loading_sets_eval_mode_and_keeps_rng_state(saved: Path) -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    loaded = load_checkpoint(str(saved))
    assert torch.equal(torch.get_rng_state(), before)
    assert not loaded.model.training
    assert not any(parameter.requires_grad for parameter in loaded.model.parameters())
    assert {parameter.dtype for parameter in loaded.model.parameters()} == {torch.float32}
    assert loaded.folder == saved
    assert load_checkpoint(saved, dtype=torch.bfloat16).model.encoder.embedding.table.weight.dtype == torch.bfloat16


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("positions", POSITION_NAMES)
def test_model_loads_directly_to_device(tmp_path: Path, source: Tokenizer, positions: str) -> None:
    model = make_model(source, source, positions=positions, heads=1)
    save_checkpoint(tmp_path / "model", model, source, source, storage="float32")
    loaded = load_checkpoint(tmp_path / "model", device="cuda").model
    ids = torch.tensor([[5, 7, 11, 13]])
    with torch.inference_mode():
        torch.testing.assert_close(loaded(ids.cuda(), ids.cuda()).cpu(), model(ids, ids), atol=1e-4, rtol=1e-3)


def test_shared_vocabulary_is_stored_and_loaded_once(tmp_path: Path, saved: Path, source: Tokenizer) -> None:
    save_checkpoint(tmp_path / "model", make_model(source, source), source, source)
    loaded = load_checkpoint(tmp_path / "model")
    assert loaded.source_tokenizer is loaded.target_tokenizer
    assert set(contents(tmp_path / "model")) == {"config.json", WEIGHTS, "tokenizer.json", "SHA256SUMS"}
    separate = load_checkpoint(saved)
    assert separate.source_tokenizer.vocabulary_size != separate.target_tokenizer.vocabulary_size
    assert separate.target_tokenizer.vocabulary_size == separate.config.target_vocabulary


def test_float16_rounds_only_matrices(tmp_path: Path, model: Transformer, source: Tokenizer, target: Tokenizer) -> None:
    save_checkpoint(tmp_path / "model", model, source, target)
    loaded = load_checkpoint(tmp_path / "model").model.state_dict()
    for name, exact in model.state_dict().items():
        expected = exact.half().float() if exact.ndim > 1 else exact
        assert torch.equal(loaded[name], expected), name
    # Rounding is idempotent: saving the loaded model gives the same files.
    reloaded = load_checkpoint(tmp_path / "model")
    save_checkpoint(tmp_path / "again", reloaded.model, source, target)
    assert contents(tmp_path / "again") == contents(tmp_path / "model")


@pytest.mark.parametrize("shard_bytes", [9_500_000, 3_000])
def test_int8_error_is_at_most_half_a_step(
    tmp_path: Path, model: Transformer, source: Tokenizer, target: Tokenizer, shard_bytes: int
) -> None:
    save_checkpoint(tmp_path / "model", model, source, target, storage="int8", shard_bytes=shard_bytes)
    loaded = load_checkpoint(tmp_path / "model").model.state_dict()
    for name, exact in model.state_dict().items():
        if exact.ndim == 1:
            assert torch.equal(loaded[name], exact), name
            continue
        step = exact.abs().amax(dim=1, keepdim=True) / 127
        assert bool(((loaded[name] - exact).abs() <= 0.5001 * step).all()), name
    assert (logits(load_checkpoint(tmp_path / "model").model) - logits(model)).abs().max() < 0.1


def test_int8_matches_manual_quantisation() -> None:
    values, scale = encode_tensor(
        "table", torch.tensor([[127.0, -63.4, 0.0], [0.0, 0.0, 0.0], [-0.254, 0.003, 0.001]]), "int8"
    )
    assert values.tolist() == [[127, -63, 0], [0, 0, 0], [-127, 2, 0]]
    assert scale is not None
    torch.testing.assert_close(scale, torch.tensor([1.0, 0.0, 0.002]))


# ------------------------------------------------------------ model folders


@pytest.mark.parametrize("storage", ["float32", "float16", "int8", "int4"])
def test_saving_is_deterministic(tmp_path: Path, model: Transformer, source: Tokenizer, storage: Any) -> None:
    model = make_model(source, source)
    for name in ("first", "second", "second"):  # the last one overwrites the second
        save_checkpoint(tmp_path / name, model, source, source, storage=storage, card="# Card\n", shard_bytes=20_000)
    assert contents(tmp_path / "first") == contents(tmp_path / "second")
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["first", "second"]


def test_checksums_match_sha256sum(saved: Path) -> None:
    subprocess.run([*SHA256SUM, "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=saved, check=True)
    listed = {line.split("  ")[1] for line in (saved / "SHA256SUMS").read_text().splitlines()}
    assert listed == {path.name for path in saved.iterdir()} - {"SHA256SUMS"}


def test_shards_respect_limit_and_have_hub_index(sharded: Path, model: Transformer) -> None:
    files = sorted(path.name for path in sharded.glob("*.safetensors"))
    count = len(files)
    assert files == [f"model-{number:05d}-of-{count:05d}.safetensors" for number in range(1, count + 1)]
    assert all((sharded / file).stat().st_size <= 10_000 for file in files)
    index = json.loads((sharded / f"{WEIGHTS}.index.json").read_text())
    assert index["metadata"]["total_size"] == 4 * model.parameter_count()
    for name, file in index["weight_map"].items():
        assert name in load_file(sharded / file)
    assert any(".rows.1" in name for name in index["weight_map"])  # one embedding is larger than a shard


def test_shards_load_like_single_file(saved: Path, sharded: Path) -> None:
    assert torch.equal(logits(load_checkpoint(sharded).model), logits(load_checkpoint(saved).model))


def test_default_shards_are_below_ten_megabytes(tmp_path: Path) -> None:
    table = (torch.arange(7_001 * 701) % 2_039).reshape(7_001, 701).float()  # integers that float16 represents exactly
    tensors = {f"layers.{number}.weight": torch.zeros(1_009, 701) for number in range(11)} | {"table": table}
    write_weights(tmp_path, tensors, "float16", 9_500_000)
    assert all(path.stat().st_size < 9_500_000 for path in tmp_path.glob("*.safetensors"))
    assert torch.equal(TensorStore(tmp_path).read("table"), table)  # stored in shards and read in several steps


def test_save_replaces_only_shards_and_vocabularies(tmp_path: Path, sharded: Path, source: Tokenizer) -> None:
    folder = tmp_path / "model"
    shutil.copytree(sharded, folder)
    (folder / "notes.txt").write_text("mine")
    save_checkpoint(folder, make_model(source, source), source, source)
    assert set(contents(folder)) == {"config.json", WEIGHTS, "tokenizer.json", "SHA256SUMS", "notes.txt"}
    load_checkpoint(folder)


def test_failed_save_keeps_old_model(
    tmp_path: Path,
    saved: Path,
    model: Transformer,
    source: Tokenizer,
    target: Tokenizer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(saved, folder)
    before = contents(folder)

    def fail(path: Path) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint_module, "write_checksums", fail)
    for target_folder in (folder, tmp_path / "new"):
        with pytest.raises(CheckpointError, match=r"cannot be written.*No space left"):
            save_checkpoint(target_folder, model, source, target)
    assert contents(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_fingerprint_depends_on_weights_but_not_card(tmp_path: Path, saved: Path, model: Transformer) -> None:
    fingerprint = load_checkpoint(saved).fingerprint
    assert re.fullmatch("[0-9a-f]{16}", fingerprint)
    folder = tmp_path / "model"
    shutil.copytree(saved, folder)
    (folder / "README.md").write_text("another card")
    assert load_checkpoint(folder).fingerprint == fingerprint
    change_tensors(lambda tensors: tensors["encoder.embedding.table.weight"].add_(1), folder)
    sign(folder)
    assert load_checkpoint(folder).fingerprint != fingerprint


def test_weights_digest_depends_only_on_weights(tmp_path: Path, saved: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(saved, folder)
    digest = weights_digest(folder)
    assert re.fullmatch("[0-9a-f]{16}", digest)
    for name in ("README.md", "config.json", "roles.json"):
        (folder / name).write_text("{}")
    sign(folder)
    assert weights_digest(folder) == digest
    (folder / CHECKSUMS_FILE).unlink()
    assert weights_digest(folder) == digest
    change_tensors(lambda tensors: tensors["encoder.embedding.table.weight"].add_(1), folder)
    assert weights_digest(folder) != digest
    for path in folder.glob("*.safetensors"):
        path.unlink()
    assert weights_digest(folder) == ""


def test_unloadable_model_is_not_saved(tmp_path: Path, source: Tokenizer, target: Tokenizer) -> None:
    model = make_model(source, target)
    table = model.encoder.embedding.table.weight
    save = partial(save_checkpoint, tmp_path / "model", model)
    with pytest.raises(CheckpointError, match=r"the target vocabulary has .* entries, but the config says"):
        save(source, source)
    with pytest.raises(CheckpointError, match="cannot be stored as 'int2'; choose float32, float16, int8, int4"):
        save(source, target, storage="int2")  # type: ignore[arg-type]
    with torch.no_grad():
        table[3, 5] = 70_000.0
    with pytest.raises(CheckpointError, match=r"encoder.embedding.table.weight contains numbers above 65504"):
        save(source, target)
    with torch.no_grad():
        table[3, 5] = torch.nan
    with pytest.raises(CheckpointError, match=r"encoder.embedding.table.weight contains NaN"):
        save(source, target, storage="int8")
    assert not list(tmp_path.iterdir())
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(CheckpointError, match="is not a Headlight model folder"):
        save_checkpoint(tmp_path, make_model(source, target), source, target)


# ------------------------------------------------------------ errors


def change_json(change: Callable[[dict[str, Any]], Any], folder: Path, name: str = "config.json") -> None:
    values = json.loads((folder / name).read_text())
    change(values)
    (folder / name).write_text(json.dumps(values))


def change_tensors(change: Callable[[dict[str, torch.Tensor]], Any], folder: Path) -> None:
    tensors = load_file(folder / WEIGHTS)
    change(tensors)
    save_file(tensors, folder / WEIGHTS)


def change_config(change: Callable[[dict[str, Any]], Any]) -> Damage:
    return partial(change_json, change)


def change_index(change: Callable[[dict[str, Any]], Any]) -> Damage:
    return partial(change_json, change, name=f"{WEIGHTS}.index.json")


def damage_tensors(change: Callable[[dict[str, torch.Tensor]], Any]) -> Damage:
    return partial(change_tensors, change)


def remove(name: str) -> Damage:
    return lambda folder: (folder / name).unlink()


def write(name: str, data: bytes) -> Damage:
    return lambda folder: (folder / name).write_bytes(data)


def truncate(name: str, size: int) -> Damage:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:size])


def append(name: str, data: bytes) -> Damage:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes() + data)


def combine(*damages: Damage) -> Damage:
    def apply_all(folder: Path) -> None:
        for damage in damages:
            damage(folder)

    return apply_all


TABLE = "encoder.embedding.table.weight"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
SIZE = r"[\d,]+"

ERRORS: dict[str, tuple[Damage, str]] = {  # damage to a valid folder, and the error message
    "no folder": (shutil.rmtree, r"there is no such folder. Check the path"),
    "a file": (combine(shutil.rmtree, lambda f: f.write_text("x")), r"is a file, but a model folder is needed"),
    "no config": (remove("config.json"), r"config.json is missing. Download or save"),
    "no weights": (remove(WEIGHTS), r"model.safetensors is missing. Download or save"),
    "no vocabulary": (remove("source_tokenizer.json"), r"source_tokenizer.json is missing"),
    "no shared vocabulary": (
        combine(remove("source_tokenizer.json"), remove("target_tokenizer.json")),
        r": tokenizer.json is missing",
    ),
    "pickle only": (
        combine(remove(WEIGHTS), write("pytorch_model.bin", b"\x80\x02")),
        r"pytorch_model.bin, but no model.safetensors. A pickle can run any code and is never read: ",
    ),
    "truncated": (
        truncate(WEIGHTS, 40_000),
        rf"model.safetensors is cut short \(expected {SIZE} bytes, found 40,000\). Download",
    ),
    "truncated header": (truncate(WEIGHTS, 500), rf"is cut short \(expected {SIZE} bytes, found 500\)"),
    "empty weights": (truncate(WEIGHTS, 0), r"model.safetensors is cut short to 0 bytes"),
    "too long": (append(WEIGHTS, b"more"), r"is not a valid safetensors file"),
    "other file": (write(WEIGHTS, b"PK\x03\x04" + 99 * b"z"), r"model.safetensors is not a safetensors file. Download"),
    "broken header": (write(WEIGHTS, b"\x04" + 7 * b"\0" + b"{abc"), r"is not a valid safetensors file .JSON"),
    "git-lfs pointer": (write(WEIGHTS, POINTER), r"model.safetensors is only a git-lfs pointer .* Run `git lfs pull`"),
    "git-lfs vocabulary": (write("source_tokenizer.json", POINTER), r"source_tokenizer.json is only a git-lfs pointer"),
    "wrong shape": (
        change_config(lambda v: v["config"].update(d_ff=29)),
        r"feed_forward.wide.weight has shape \[31, 22\], but config.json requires \[29, 22\]",
    ),
    "missing tensor": (damage_tensors(lambda t: t.pop(TABLE)), rf"the weights lack {TABLE}, unlike what config.json"),
    "many missing": (
        change_config(lambda v: v["config"].update(encoder_layers=2)),
        r"lack encoder.layers.1.* and 13 more",
    ),
    "unexpected tensor": (
        damage_tensors(lambda t: t.update(more=torch.zeros(3))),
        r"the weights also contain more, unlike what config.json",
    ),
    "integer weights": (
        damage_tensors(lambda t: t.update({TABLE: t[TABLE].long()})),
        rf"{TABLE} is stored as I64, but only F64, F32, F16, BF16, I8, U8 can be read",
    ),
    "int8 without scale": (
        damage_tensors(lambda t: t.update({TABLE: t[TABLE].char()})),
        rf"{TABLE} is stored as int8, but {TABLE}.scale does not give one number for each row",
    ),
    "parts that do not fit": (
        damage_tensors(lambda t: t.update({f"{TABLE}.rows.0": t.pop(TABLE), f"{TABLE}.rows.1": torch.zeros(3, 5)})),
        rf"the parts of {TABLE} do not fit together",
    ),
    "NaN": (damage_tensors(lambda t: t[TABLE].view(-1)[7:8].fill_(torch.nan)), rf"{TABLE} contains NaN or infinite"),
    "infinite": (
        damage_tensors(lambda t: t[TABLE].view(-1)[7:8].fill_(-torch.inf)),
        rf"{TABLE} contains NaN or infinite",
    ),
    "vocabulary of another size": (
        lambda f: shutil.copy(f / "source_tokenizer.json", f / "target_tokenizer.json"),
        r"the target vocabulary has \d+ entries, but the config says \d+. Use the tokenizer",
    ),
    "broken vocabulary": (write("source_tokenizer.json", b"{}"), r"source_tokenizer.json: is not a tokenizer"),
    "config not JSON": (write("config.json", b"{"), r"config.json is not JSON"),
    "config not text": (write("config.json", b"\xff\xfe"), r"config.json is not JSON"),
    "config not an object": (write("config.json", b"[]"), r"config.json does not contain a JSON object"),
    "config too deep": (write("config.json", b"[" * 100_000), r"config.json is not JSON"),
    "other format": (change_config(lambda v: v.update(format="gpt2")), r"is of format 'gpt2'. Choose .* headlight"),
    "no format": (change_config(lambda v: v.pop("format")), r"config.json lacks the field format"),
    "foreign": (write("config.json", b'{"model_type": "gpt2"}'), r"config.json is of format 'gpt2'"),
    "unknown kind": (change_config(lambda v: v.update(kind="rnn")), r"the known kinds are: transformer"),
    "later version": (
        change_config(lambda v: v.update(version=2)),
        r"has version 2, but this Headlight reads 1. Update",
    ),
    "missing outer field": (change_config(lambda v: v.pop("config")), r"config.json lacks config"),
    "unknown outer field": (change_config(lambda v: v.update(more=1)), r"config.json has unknown field\(s\) more"),
    "missing field": (change_config(lambda v: v["config"].pop("heads")), r"config.json lacks the field\(s\) heads"),
    "unknown field": (
        change_config(lambda v: v["config"].update(colour=1)),
        r"config.json has unknown field\(s\) colour",
    ),
    "wrong type": (change_config(lambda v: v["config"].update(heads="two")), r"json: heads is 'two', but must be int"),
    "impossible value": (
        change_config(lambda v: v["config"].update(heads=5)),
        r"config.json: .* split into 5 equal heads",
    ),
}

SHARD_ERRORS: dict[str, tuple[Damage, str]] = {
    "no index": (remove(f"{WEIGHTS}.index.json"), r"index.json, which maps tensors to shards, is missing"),
    "no shard": (lambda f: next(f.glob("model-00002*")).unlink(), r"model-00002-of-\d+.safetensors is missing, but"),
    "no weight map": (change_index(lambda v: v.pop("weight_map")), r"index.json has no weight_map"),
    "path to parent": (
        change_index(lambda v: v["weight_map"].update({TABLE: "../other/model.safetensors"})),
        r"names '../other/model.safetensors', but only .safetensors files of the same folder may be read",
    ),
    "absolute path": (
        change_index(lambda v: v["weight_map"].update({TABLE: "/model.safetensors"})),
        r"of the same folder",
    ),
    "windows path": (change_index(lambda v: v["weight_map"].update({TABLE: "..\\model.safetensors"})), r"of the same"),
    "pickle in the index": (change_index(lambda v: v["weight_map"].update({TABLE: "model.bin"})), r"names 'model.bin'"),
    "not a string": (change_index(lambda v: v["weight_map"].update({TABLE: ["x"]})), r"names \['x'\], but only"),
    "wrong shard": (
        change_index(lambda v: v["weight_map"].update(more="model-00001-of-00014.safetensors")),
        r"model-00001-of-00014.safetensors lacks more, which .*index.json places there",
    ),
}


def error_message(folder: Path, damage: Damage) -> str:
    damage(folder)
    if folder.is_dir():
        sign(folder)
    with pytest.raises(ModelError) as error_info:
        load_checkpoint(folder)
    assert str(folder) in str(error_info.value)
    return str(error_info.value)


@pytest.mark.parametrize("name", ERRORS)
def test_broken_folder_error_explains_cause(tmp_path: Path, saved: Path, name: str) -> None:
    damage, message = ERRORS[name]
    folder = tmp_path / "model"
    shutil.copytree(saved, folder)
    assert re.search(message, error_message(folder, damage))


@pytest.mark.parametrize("name", SHARD_ERRORS)
def test_broken_shards_error_explains_cause(tmp_path: Path, sharded: Path, name: str) -> None:
    damage, message = SHARD_ERRORS[name]
    folder = tmp_path / "model"
    shutil.copytree(sharded, folder)
    assert re.search(message, error_message(folder, damage))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (remove("SHA256SUMS"), r"SHA256SUMS is missing"),
        (write("SHA256SUMS", b"hello\n"), r"SHA256SUMS is not what `sha256sum` writes"),
        (write("SHA256SUMS", b"0" * 64 + b"  ../config.json\n"), r"SHA256SUMS is not what `sha256sum` writes"),
        (write("SHA256SUMS", b""), r"SHA256SUMS has no checksum of config.json"),
        (
            change_config(lambda values: values["config"].update(norm_epsilon=1e-3)),
            r"config.json differs from its checksum",
        ),
        (
            damage_tensors(lambda tensors: tensors[TABLE].add_(1)),
            r"model.safetensors differs from its checksum .*damaged",
        ),
        (truncate("target_tokenizer.json", 99), r"target_tokenizer.json differs from its checksum"),
    ],
)
def test_changed_file_fails_checksum(tmp_path: Path, saved: Path, damage: Damage, message: str) -> None:
    folder = tmp_path / "model"
    shutil.copytree(saved, folder)
    damage(folder)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(folder)


def test_checksum_verification_can_be_skipped(tmp_path: Path, saved: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(saved, folder)
    change_tensors(lambda tensors: tensors[TABLE].zero_(), folder)
    assert not load_checkpoint(folder, verify=False).model.encoder.embedding.table.weight.any()


# ------------------------------------------------------------ extensions


class Summariser(nn.Module):
    """A different kind of model, with its own tied weights."""

    def __init__(self, config: SummariserConfig) -> None:
        super().__init__()
        self.config = config
        self.table = nn.Embedding(config.source_vocabulary, 7)


class SummariserConfig(TransformerConfig):
    pass


def test_model_kind_needs_one_line(
    tmp_path: Path, source: Tokenizer, model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ModelKind(SummariserConfig, Summariser, lambda config: (config.source_vocabulary, config.source_vocabulary))
    monkeypatch.setitem(checkpoint_module.KINDS, "summariser", line)
    config = SummariserConfig(source_vocabulary=source.vocabulary_size, target_vocabulary=5)
    save_checkpoint(tmp_path / "model", Summariser(config), source, source)
    assert type(read_checkpoint(tmp_path / "model", Summariser).config) is SummariserConfig
    with pytest.raises(CheckpointError, match="contains Summariser, not Transformer"):
        load_checkpoint(tmp_path / "model")


def test_folder_format_needs_one_class_and_one_line(
    tmp_path: Path, source: Tokenizer, target: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_model(source, target)

    class Foreign(FolderReader):
        requires_checksums = False

        def config(self, folder: Path, values: dict[str, Any]) -> TransformerConfig:
            return replace(model.config, d_ff=values["ffn"])

        def build(self, config: TransformerConfig) -> nn.Module:
            return Transformer(config)

        def tokenizers(self, folder: Path, config: TransformerConfig) -> tuple[Tokenizer, Tokenizer]:
            return source, target

        def load_weight(self, store: TensorStore, name: str) -> torch.Tensor:
            return store.read(f"model.{name}").T if name.endswith("wide.weight") else store.read(f"model.{name}")

        def is_optional(self, name: str) -> bool:
            return name == "positions"

    tensors = {f"model.{name}": tensor.clone() for name, tensor in model.state_dict().items()} | {
        "positions": torch.ones(1)
    }
    tensors = {
        name: tensor.T.contiguous() if name.endswith("wide.weight") else tensor for name, tensor in tensors.items()
    }
    del tensors["model.decoder.output.words.weight"]
    save_file(tensors, tmp_path / WEIGHTS)
    (tmp_path / "config.json").write_text('{"model_type": "foreign", "ffn": 31}')
    with pytest.raises(ConfigError, match="is of format 'foreign'"):
        load_checkpoint(tmp_path)
    monkeypatch.setitem(loading.READERS, "foreign", Foreign())
    loaded = load_checkpoint(tmp_path)
    assert torch.equal(logits(loaded.model), logits(model))
    assert loaded.fingerprint == ""


# ------------------------------------------------------------ memory


@pytest.mark.slow
@needs_proc
def test_loading_peak_memory_is_limited(tmp_path: Path, saved: Path, source: Tokenizer) -> None:
    # Two tensors make up most of the model. The second is the hard case: it is loaded while the first is in memory.
    big = make_model(source, source, positions="learned", d_model=256, max_length=20_011)
    folders = []
    for name, storage, shard_bytes in (
        ("one-file", "float32", 1_000_000_000),
        ("shards", "float16", 9_500_000),
        ("int8", "int8", 1_000_000_000),
    ):
        folders.append(tmp_path / name)
        save_checkpoint(folders[-1], big, source, source, storage=storage, shard_bytes=shard_bytes)  # type: ignore[arg-type]
    measured = measure_loading(saved, folders)
    assert len(measured) == 3
    for weights, peak, before in measured:  # measured: 1.05 to 1.08; mapping the whole file gave 1.35
        assert weights > 40_000_000
        assert before - measured[0][2] < 0.2 * weights
        assert 0.9 * weights < peak < 1.3 * weights, f"{peak / weights:.2f}"


def test_swapped_vocabulary_is_detected_without_checksum(tmp_path: Path, saved: Path) -> None:
    folder = Path(shutil.copytree(saved, tmp_path / "model"))
    sums = folder / "SHA256SUMS"
    lines = [line for line in sums.read_text(encoding="utf-8").splitlines() if "tokenizer" not in line]
    sums.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"has no checksum of .*tokenizer\.json"):
        load_checkpoint(folder)


@pytest.mark.parametrize(("name", "value"), [("end_id", 5), ("pad_id", 4), ("start_id", 3)])
def test_ids_outside_vocabulary_raise(tmp_path: Path, saved: Path, name: str, value: int) -> None:
    folder = Path(shutil.copytree(saved, tmp_path / "model"))
    path = folder / "config.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    values["config"][name] = value
    path.write_text(json.dumps(values), encoding="utf-8")
    sign(folder)
    with pytest.raises(CheckpointError, match=f"{name} is {value} in the config, but"):
        load_checkpoint(folder)
