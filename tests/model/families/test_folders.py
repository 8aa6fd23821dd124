"""Third-party folders: files, defaults, languages, broken content, and import."""

from __future__ import annotations

import json
import pickle
import re
import shutil
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from headlight.model.commands.main import main
from headlight.model.errors import ModelError, RequestError
from headlight.model.families.hub import fetch
from headlight.model.records import DecodingOptions, TranslationRequest
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.translate.translator import Translator
from headlight.viz.service.model_cards import read_card
from tests.hub_server import Repository, local_hub, marian_files
from tests.model.families.folders import (
    SENTENCES,
    bart,
    copy_folder,
    m2m,
    marian,
    mbart,
    nllb,
    pegasus,
    reference,
    reference_ids,
    t5,
    token_ids,
    translator,
)
from tests.model.families.texts import learn

TEXTS = SENTENCES[:4]


@pytest.fixture(scope="module")
def marian_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return marian(tmp_path_factory.mktemp("opus") / "model", codes=("fra", "deu"))


@pytest.fixture(scope="module")
def nllb_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nllb(tmp_path_factory.mktemp("nllb") / "model")


@pytest.fixture(scope="module")
def answers(marian_folder: Path) -> list[list[int]]:
    return output_ids(translator(marian_folder))


umt5 = partial(t5, family="umt5", tasks=False)
byt5 = partial(t5, in_bytes=True, tasks=False)


def output_ids(ours: Translator, **options: Any) -> list[list[int]]:
    """Return the output ids of a few sentences."""
    return token_ids(ours.translate_batch(TEXTS, **options))


def edit(folder: Path, name: str, **values: Any) -> None:
    """Change fields of a JSON file; None removes one."""
    content = json.loads((folder / name).read_text(encoding="utf-8")) | values
    (folder / name).write_text(json.dumps({key: value for key, value in content.items() if value is not None}))


# ------------------------------------------------------------ files


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "before 2020"])
def test_pytorch_weights_are_loaded(
    tmp_path: Path, marian_folder: Path, answers: list[list[int]], zipped: bool
) -> None:
    folder = copy_folder(marian_folder, tmp_path / "model")
    (folder / "model.safetensors").unlink()
    tensors = reference(marian_folder).state_dict()  # contains tied tensors under each of their names
    assert "lm_head.weight" in tensors
    torch.save(tensors, folder / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
    ours = translator(folder)
    assert output_ids(ours) == answers
    assert ours.model.config.share_embeddings
    assert ours.model.config.tie_output


def test_shards_are_loaded(tmp_path: Path, marian_folder: Path, answers: list[list[int]]) -> None:
    folder = copy_folder(marian_folder, tmp_path / "model")
    (folder / "model.safetensors").unlink()
    reference(marian_folder).save_pretrained(folder, max_shard_size="50KB")
    assert len(list(folder.glob("model-*.safetensors"))) > 2
    assert output_ids(translator(folder)) == answers


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_weights_are_converted_to_float32(
    tmp_path: Path, marian_folder: Path, dtype: torch.dtype
) -> None:
    folder = copy_folder(marian_folder, tmp_path / "model")
    tensors = {name: tensor.to(dtype) for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(tensors, folder / "model.safetensors")
    ours = translator(folder)
    assert ours.model.encoder.embedding.table.weight.dtype == torch.float32
    assert ours.model.decoder.layers[0].feed_forward.wide.bias.equal(tensors["model.decoder.layers.0.fc1.bias"].float())


@pytest.mark.parametrize(("make", "table"), [(make, "model.shared") for make in (marian, m2m, bart)] + [(t5, "shared")])
def test_differing_embeddings_are_not_tied(tmp_path: Path, make: Callable[..., Path], table: str) -> None:
    folder = make(tmp_path / "model")
    tensors = load_file(folder / "model.safetensors")
    tables = [name for name in tensors if "shared" in name or "embed_tokens" in name or "lm_head" in name]
    assert len(tables) == 1  # a single shared one
    only = tensors.pop(tables[0])
    tensors |= {f"{table}.weight": only, "lm_head.weight": only.flip(0).contiguous()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    ours = translator(folder)
    assert ours.model.config.share_embeddings
    assert not ours.model.config.tie_output
    results = ours.translate_batch(TEXTS, beam_size=1)
    first = ours.languages.tokens_for().first
    named: dict[str, Any] = {"forced_bos_token_id": first[0]} if first else {}
    assert token_ids(results) == reference_ids(
        folder, token_ids(results, "source"), num_beams=1, early_stopping=False, **named
    )


def test_missing_output_bias_stays_missing(tmp_path: Path, marian_folder: Path) -> None:
    folder = copy_folder(marian_folder, tmp_path / "model")
    tensors = load_file(folder / "model.safetensors")
    del tensors["final_logits_bias"]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    assert not translator(folder).model.config.final_logits_bias


# ------------------------------------------------------------ defaults and languages


def test_default_options_come_from_generation_config(marian_folder: Path) -> None:
    ours = translator(marian_folder)
    assert (ours.generation_defaults.beam_size, ours.generation_defaults.max_length) == (4, 39)
    assert ours.request("Tür").options == DecodingOptions(beam_size=4, max_length=39)
    assert ours.request("Tür", beam_size=2).options == DecodingOptions(beam_size=2, max_length=39)
    assert ours.request("Tür", temperature=0.5).options.beam_size == 1
    assert ours.request("Tür", n_best=4).options.n_best == 4
    own = TranslationRequest(text="Tür")
    assert ours.request(own).options == DecodingOptions()
    assert ours.translate_lines([TEXTS[0]]) == [ours.translate(TEXTS[0]).text]


@pytest.mark.slow(after=8)
@pytest.mark.parametrize(
    "changes",
    [
        {"early_stopping": True},
        {"early_stopping": "never", "length_penalty": 2.0},
        {"length_penalty": 0.3},
        {"length_penalty": 0.0, "early_stopping": "never"},
        {"renormalize_logits": False},
        {"forced_eos_token_id": None},
        {"no_repeat_ngram_size": 2},
        {"min_length": 9},
        {"bad_words_ids": [[3], [7, 11], [0], [5, 6, 9]]},
        {"suppress_tokens": [3, 7, 11]},
        {"forced_bos_token_id": 17},
        {"num_beams": 3, "max_length": 11},
        {"max_new_tokens": 7},
    ],
    ids=str,
)
def test_each_default_matches_generate(tmp_path: Path, marian_folder: Path, changes: dict[str, Any]) -> None:
    folder = copy_folder(marian_folder, tmp_path / "model")
    edit(folder, "generation_config.json", **changes)
    if changes.get("forced_eos_token_id", 1) is None:
        edit(folder, "config.json", forced_eos_token_id=None)
    ours = translator(folder)
    results = ours.translate_batch(SENTENCES[:9])
    assert token_ids(results) == reference_ids(folder, token_ids(results, "source"))


def test_defaults_fall_back_to_config(tmp_path: Path, marian_folder: Path) -> None:
    folder = copy_folder(marian_folder, tmp_path / "model")
    (folder / "generation_config.json").unlink()
    edit(folder, "config.json", num_beams=3, max_length=21, bad_words_ids=[[4]])
    defaults = translator(folder).generation_defaults
    assert (defaults.beam_size, defaults.max_length, defaults.never, defaults.forced_end) == (3, 20, ((4,),), 0)


def test_t5_task_has_own_defaults(tmp_path: Path) -> None:
    folder = t5(tmp_path / "model")
    (folder / "generation_config.json").write_text('{"max_length": 30}')
    defaults = translator(folder).generation_defaults
    assert (defaults.beam_size, defaults.max_length, defaults.patience) == (4, 29, "none")


def test_target_language_changes_output(nllb_folder: Path) -> None:
    ours = translator(nllb_folder)
    texts = {code: ours.translate(TEXTS[0], target_language=code) for code in ("fra_Latn", "zho_Hans")}
    for code, result in texts.items():
        first = result.target_tokens[0]
        assert (first.text, first.special, first.start, first.end) == (code, True, 0, 0)
        assert result.text == ours.target_tokenizer.decode([token.id for token in result.target_tokens])
    assert ours.translate(TEXTS[0]).target_tokens[0].text == "deu_Latn"
    source = ours.translate(TEXTS[0], source_language="eng_Latn").source_tokens
    assert (source[0].text, source[0].special, source[0].start, source[0].end) == ("eng_Latn", True, 0, 0)
    lines = ours.translate_lines([TEXTS[0], TEXTS[1]], target_language="fra_Latn", source_language="eng_Latn")
    expected = [ours.translate(text, target_language="fra_Latn", source_language="eng_Latn").text for text in TEXTS[:2]]
    assert lines == expected


def test_batch_may_mix_languages(nllb_folder: Path) -> None:
    ours = translator(nllb_folder)
    requests = [
        ours.request(text, target_language=code, source_language=origin)
        for text in TEXTS[:2]
        for code, origin in (("fra_Latn", "eng_Latn"), ("zho_Hans", "rus_Cyrl"))
    ]
    together = ours.translate_batch(requests)
    for request, result in zip(requests, together, strict=True):
        alone = ours.translate(request)
        assert [token.id for token in result.target_tokens] == [token.id for token in alone.target_tokens]
        np.testing.assert_allclose(result.attention.cross, alone.attention.cross, atol=1e-5)


def test_forced_targets_and_prefixes_follow_language(nllb_folder: Path) -> None:
    ours = translator(nllb_folder)
    forced = ours.translate(TEXTS[0], target=TEXTS[1], target_language="fra_Latn")
    assert forced.target_tokens[0].text == "fra_Latn"
    assert forced.text == TEXTS[1]
    continued = ours.translate(TEXTS[0], prefix="Der alte", target_language="fra_Latn")
    assert continued.target_tokens[0].text == "fra_Latn"
    assert continued.text.startswith("Der alte")
    ids = tuple(token.id for token in forced.target_tokens)
    assert ours.translate(TEXTS[0], target=ids, target_language="zho_Hans").target_tokens[0].text == "fra_Latn"


def test_unknown_language_error_lists_choices(nllb_folder: Path, marian_folder: Path, tmp_path: Path) -> None:
    ours = translator(nllb_folder)
    with pytest.raises(RequestError, match=r"one of ace_Latn, deu_Latn.*, but \"tlh\" was given") as error_info:
        ours.translate("Tür", target_language="tlh")
    assert error_info.value.field == "target_language"
    with pytest.raises(RequestError, match=r'no choice of languages, but "deu" was given. Leave source_language empty'):
        translator(marian_folder).translate("Tür", source_language="deu")
    with pytest.raises(RequestError, match="target_language must be text, but 3 was given"):
        ours.translate("Tür", target_language=3)
    with pytest.raises(RequestError, match=r"mg, \.\.\.|\(100 in all\)"):
        translator(m2m(tmp_path / "m2m")).translate("Tür", target_language="tlh")


def test_unknown_source_words_are_reported(nllb_folder: Path, marian_folder: Path) -> None:
    for folder in (nllb_folder, marian_folder):
        translation = translator(folder).translate("Der alte ☃ fährt.")
        assert ["☃" in translation.source_tokens[place].text for place in translation.unknown] == [True]
        assert translator(folder).translate("Der alte Müller fährt.").unknown == ()


# ------------------------------------------------------------ the fast path


@pytest.mark.slow(after=8)
@pytest.mark.parametrize("step_weights", ["float16", "float32"])
@pytest.mark.parametrize("make", [marian, m2m, nllb, t5, bart, mbart, pegasus, umt5, byt5])
def test_packed_weights_give_same_output(tmp_path: Path, make: Callable[..., Path], step_weights: str) -> None:
    folder = make(tmp_path / "model")
    assert output_ids(translator(folder, step_weights=step_weights)) == output_ids(translator(folder))


# ------------------------------------------------------------ import


@pytest.mark.parametrize("make", [marian, m2m, nllb, t5, bart, mbart, pegasus, umt5, byt5])
def test_imported_folder_gives_same_output(
    tmp_path: Path, make: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    source, to = make(tmp_path / "source"), tmp_path / "ours"
    (source / "README.md").write_text("---\nlanguage: de\nlicense: cc-by-4.0\n---\n# A model\n")
    assert main(["import", str(source), str(to), "--storage", "float32"]) == 0
    assert f"{to}: written" in capsys.readouterr().out
    theirs, ours = translator(source), translator(to)
    assert (ours.generation_defaults, ours.languages) == (theirs.generation_defaults, theirs.languages)
    for text in TEXTS:
        first, second = theirs.translate(text), ours.translate(text)
        assert first.target_tokens == second.target_tokens
        assert first.source_tokens == second.source_tokens
        assert first.text == second.text
        assert (first.attention.cross == second.attention.cross).all()
    card = (to / "README.md").read_text()
    assert "- Licence: cc-by-4.0" in card
    assert "the folder source" in card


def test_imported_half_precision_folder_is_close(tmp_path: Path, marian_folder: Path) -> None:
    assert main(["import", str(marian_folder), str(tmp_path / "ours")]) == 0
    ours, theirs = translator(tmp_path / "ours"), translator(marian_folder)
    for text in TEXTS:
        forced = tuple(token.id for token in theirs.translate(text).target_tokens)
        first, second = theirs.translate(text, target=forced), ours.translate(text, target=forced)
        np.testing.assert_allclose(first.attention.cross, second.attention.cross, atol=0.01)
        assert abs(first.log_probability - second.log_probability) < 0.02 * len(forced)
    assert main(["import", str(tmp_path / "ours"), str(tmp_path / "again")]) == 2


def test_half_precision_import_only_rounds_weights(tmp_path: Path, marian_folder: Path) -> None:
    rounded = copy_folder(marian_folder, tmp_path / "rounded")
    weights = load_file(rounded / "model.safetensors")
    tables = {name for name, each in weights.items() if each.squeeze().ndim == 2}
    assert len(tables) > 40
    save_file(weights | {name: weights[name].half().float() for name in tables}, rounded / "model.safetensors")
    assert main(["import", str(marian_folder), str(tmp_path / "ours")]) == 0
    ours, theirs = translator(tmp_path / "ours"), translator(rounded)
    for text in TEXTS:
        for beam in (1, 4):
            first, second = (each.translate(text, beam_size=beam) for each in (theirs, ours))
            assert first.target_tokens == second.target_tokens
            assert (first.attention.cross == second.attention.cross).all()


def test_hub_model_is_imported_by_id(
    tmp_path: Path, marian_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {path.name: path.read_bytes() for path in marian_folder.iterdir()}
    to = tmp_path / "ours"
    with local_hub(monkeypatch, tmp_path / "home") as hub:
        hub.repositories["me/opus-mt-fr-de"] = Repository()
        commit = hub.repositories["me/opus-mt-fr-de"].push(files)
        assert main(["import", "me/opus-mt-fr-de", str(to)]) == 2  # no terminal to confirm on
        output = capsys.readouterr()
        assert "2 MB to download, licence cc-by-4.0." in output.err
        assert "--yes" in output.err
        assert not to.exists()
        assert hub.body_ranges("model.safetensors") == []
        assert main(["import", "me/opus-mt-fr-de", str(to), "--yes", "--storage", "float32"]) == 0
        hub.requests.clear()
        assert main(["import", "me/opus-mt-fr-de", str(tmp_path / "pinned"), "--revision", commit, "--yes"]) == 0
        assert hub.requests == []  # cached
        assert main(["import", "me/nothing", str(tmp_path / "nothing"), "--yes"]) == 2
    assert output_ids(translator(to)) == output_ids(translator(marian_folder))
    text = (to / "README.md").read_text()
    assert f"Imported from me/opus-mt-fr-de, revision {commit}:" in text
    card = read_card(to)
    assert (card.languages, card.kind) == (("fr", "de"), "transformer")


def test_import_errors_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for source in (str(tmp_path / "nowhere"), "nowhere", "../up/down", str(tmp_path)):
        assert main(["import", source, str(tmp_path / "ours")]) == 2
        output = capsys.readouterr().err
        assert output.count("\n") == 1
        assert "Traceback" not in output
    assert not (tmp_path / "ours").exists()


def test_translate_accepts_languages(nllb_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["translate", "--model", str(nllb_folder), "--device", "cpu", "--step-weights", "plain", TEXTS[0]]
    assert main([*command, "--to", "fra_Latn", "--from", "eng_Latn"]) == 0
    output = capsys.readouterr().out.rstrip("\n")
    assert (
        output
        == translator(nllb_folder).translate(TEXTS[0], target_language="fra_Latn", source_language="eng_Latn").text
    )
    assert main([*command, "--to", "nobody"]) == 2
    assert "target_language must be one of ace_Latn" in capsys.readouterr().err


# ------------------------------------------------------------ broken folders


class Harmful:
    """A pickle that would create a file if executed."""

    def __reduce__(self) -> Any:
        return Path.touch, (Path("harmed"),)


def pickled(folder: Path, content: Any) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(content)


def with_tensors(change: Callable[[dict[str, torch.Tensor]], Any]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors")

    return damage


def index(target: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": target}}))

    return damage


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def config(**values: Any) -> Callable[[Path], None]:
    return lambda folder: edit(folder, "config.json", **values)


def wishes(**values: Any) -> Callable[[Path], None]:
    return lambda folder: edit(folder, "generation_config.json", **values)


FC1 = "model.encoder.layers.0.fc1.weight"


def torch_saved(folder: Path, tensor: torch.Tensor) -> None:
    """Save the weights in PyTorch's format with an additional tensor."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(tensors | {FC1: tensor}, folder / "pytorch_model.bin")


def packed(folder: Path) -> None:
    """Save the weights in PyTorch's format with truncated records."""
    torch_saved(folder, torch.ones(19, 77))
    path = folder / "pytorch_model.bin"
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def small_vocabulary(folder: Path) -> None:
    """Reduce the vocabulary size in the configuration."""
    edit(folder, "config.json", vocab_size=100, pad_token_id=9, decoder_start_token_id=9)
    edit(folder, "generation_config.json", decoder_start_token_id=9)


BROKEN: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no source.spm": (remove("source.spm"), r"source\.spm is missing"),
    "no vocab": (remove("vocab.json"), r"vocab\.json is missing"),
    "no weights": (remove("model.safetensors"), r"model\.safetensors is missing"),
    "invalid spm": (lambda f: (f / "target.spm").write_bytes(b"hello"), r"target\.spm: is not a SentencePiece model"),
    "vocab is a list": (lambda f: (f / "vocab.json").write_text("[1]"), r"vocab\.json does not contain a JSON object"),
    "vocab with gaps": (lambda f: (f / "vocab.json").write_text('{"<unk>": 0, "a": 2}'), "without gaps"),
    "text ids in vocab": (lambda f: (f / "vocab.json").write_text('{"<unk>": "a"}'), "without gaps"),
    "vocab without unknown": (lambda f: (f / "vocab.json").write_text('{"a": 0}'), "has no <unk>"),
    "small vocabulary": (small_vocabulary, "config.json requires"),
    "large vocabulary": (config(vocab_size=999), r"has shape \[\d+, 77\], but config.json requires \[999, 77\]"),
    "wrong width": (config(d_model=84), "requires"),
    "one layer more": (config(encoder_layers=3), "the weights lack encoder.layers.2"),
    "one layer fewer": (config(encoder_layers=1), "also contain model.encoder.layers.1"),
    "unknown activation": (
        config(activation_function="mish"),
        "activation_function is 'mish', but must be one of: relu",
    ),
    "unknown family": (config(model_type="prophetnet"), "is of format 'prophetnet'"),
    "norm before": (config(normalize_before=True), "normalize_before is True, but only False is supported"),
    "different heads": (
        config(decoder_attention_heads=11),
        "encoder_attention_heads is 7 and decoder_attention_heads 11",
    ),
    "width is text": (config(d_model="77"), "d_model is '77', but must be a whole number"),
    "switch is a number": (config(scale_embedding=1), "scale_embedding is 1, but must be true or false"),
    "two ends": (
        config(eos_token_id=[0, "a"]),
        "eos_token_id is \\[0, 'a'\\], but must be a token's id, or a list of ids",
    ),
    "end outside vocabulary": (config(eos_token_id=9999), "end_id is 9999, but the vocabulary ends"),
    "quantised": (config(quantization_config={"bits": 4}), "quantization_config is"),
    "wrong shape": (
        with_tensors(lambda tensors: tensors.update({FC1: tensors[FC1].T.contiguous()})),
        r"feed_forward.wide.weight has shape \[77, 19\]",
    ),
    "not a number": (with_tensors(lambda tensors: tensors[FC1].fill_(float("nan"))), "contains NaN"),
    "missing tensor": (
        with_tensors(lambda tensors: tensors.pop(FC1)),
        "lack encoder.layers.0.feed_forward.wide.weight",
    ),
    "extra tensor": (with_tensors(lambda tensors: tensors.update(odd=torch.ones(2))), "also contain odd"),
    "index names file outside folder": (index("../secret.safetensors"), "only .safetensors files of the same folder"),
    "index names a pickle": (index("pytorch_model.bin"), "only .safetensors files of the same folder"),
    "pickle with code": (
        lambda f: pickled(f, pickle.dumps(Harmful())),
        "contains more than tensors|not a valid PyTorch file",
    ),
    "pickle cut short": (lambda f: pickled(f, b"PK\x03\x04 and so on"), "not a valid PyTorch file"),
    "git-lfs pointer": (lambda f: pickled(f, b"version https://git-lfs.github.com/spec/v1"), "git-lfs pointer"),
    "beam of 0": (wishes(num_beams=0), "beam_size must be a whole number from 1 to 64"),
    "suppressed id outside vocabulary": (
        wishes(suppress_tokens=[10_000]),
        "token ids that the vocabulary does not have",
    ),
    "invalid early_stopping": (wishes(early_stopping="soon"), "early_stopping is 'soon'"),
    "bad words outside vocabulary": (wishes(bad_words_ids=[[10_000]]), "token ids that the vocabulary does not have"),
    "bad words not a list": (wishes(bad_words_ids=5), "do not fit this family"),
    "bad words true": (wishes(bad_words_ids=[[True]]), "token ids that the vocabulary does not have"),
    "invalid patience": (wishes(early_stopping=[]), "do not fit this family"),
    "infinite penalty": (wishes(length_penalty=10**400), "do not fit this family"),
    "bias without row": (with_tensors(lambda tensors: tensors.update(final_logits_bias=torch.ones(0, 3))), "has shape"),
    "scalar bias": (with_tensors(lambda tensors: tensors.update(final_logits_bias=torch.ones(()))), "has shape"),
    "a huge vocabulary": (config(vocab_size=9_999_999), r"requires \[9999999, 77\]"),
    "a huge width": (config(d_model=7_000_000), "d_model is 7,000,000, but no more than 100,000 can be built"),
    "many positions": (config(max_position_embeddings=9_999_999), "has 9,999,999 positions"),
    "many layers": (config(encoder_layers=999), "has 999 layers"),
    "quantised tensor": (lambda f: packed(f), "is compressed, but PyTorch never"),
    "sparse numbers": (lambda f: torch_saved(f, torch.eye(3).to_sparse()), "does not store every number of"),
    "strided tensor": (
        lambda f: torch_saved(f, torch.zeros(1).expand(10**6, 10**6)),
        "does not store every number of",
    ),
    "meta tensor": (lambda f: torch_saved(f, torch.ones(3, device="meta")), "does not store every number of"),
    "defaults not JSON": (lambda f: (f / "generation_config.json").write_text("{"), "is not JSON"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_folder_is_one_clear_error(
    tmp_path: Path, marian_folder: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    damage, message = BROKEN[name]
    folder = copy_folder(marian_folder, tmp_path / "model")
    damage(folder)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match=message) as error_info:
        translator(folder)
    assert str(folder) in str(error_info.value)
    assert main(["import", str(folder), str(tmp_path / "ours")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_code_in_pickle_is_not_executed(tmp_path: Path, marian_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = copy_folder(marian_folder, tmp_path / "model")
    (folder / "model.safetensors").unlink()
    torch.save({"a": Harmful()}, folder / "pytorch_model.bin")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match="contains more than tensors, which could run any code"):
        translator(folder)
    assert not (tmp_path / "harmed").exists()


def spoilt_pieces(folder: Path, **parts: Any) -> None:
    """Change parts of the byte-level BPE files."""
    model = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    edit(folder, "tokenizer.json", model=model | parts)


@pytest.mark.parametrize(
    ("make", "damage", "message"),
    [
        (nllb, remove("special_tokens_map.json"), "no file lists the languages"),
        (
            nllb,
            lambda f: (f / "sentencepiece.bpe.model").write_bytes(learn(bos_id=-1)),
            "does not begin with this family",
        ),
        (m2m, lambda f: edit(f, "tokenizer_config.json", language_codes="martian"), "language_codes is 'martian'"),
        (pegasus, config(normalize_before=False), "normalize_before is False, but only True is supported"),
        (pegasus, lambda f: edit(f, "tokenizer_config.json", offset=9**9), "offset is 387420489, but must fit"),
        (mbart, config(normalize_before=False), "normalize_before is False, but only True is supported"),
        (mbart, remove("sentencepiece.bpe.model"), r"sentencepiece\.bpe\.model is missing"),
        (mbart, config(vocab_size=400), r"has the id|requires"),
        (bart, config(normalize_before=True), "normalize_before is True, but only False is supported"),
        (bart, config(static_position_embeddings=True), "static_position_embeddings is True"),
        (bart, config(max_position_embeddings=40), r"positions\.table has shape \[81, 65\]"),
        (bart, remove("tokenizer.json"), r"vocab\.json and merges\.txt are missing"),
        (bart, lambda f: edit(f, "tokenizer.json", normalizer={"type": "NFC"}), "does not tokenise text as BART"),
        (
            bart,
            lambda f: edit(f, "tokenizer.json", model={"type": "BPE", "vocab": {"a": 9}, "merges": []}),
            "not byte-level",
        ),
        (bart, lambda f: spoilt_pieces(f, merges=["Ġ t h"]), "a merge that does not join two pieces"),
        (bart, lambda f: spoilt_pieces(f, merges=["Ġ ĠĠĠĠĠĠ"]), "merges pieces that it does not have"),
        (bart, lambda f: spoilt_pieces(f, vocab={"a": 0, "b": "c"}), "does not have a whole number as its id"),
        (t5, config(feed_forward_proj="gated-mish"), "feed_forward_proj is 'gated-mish'"),
        (t5, config(relative_attention_num_buckets=3), "at least 4 buckets"),
        (t5, remove("spiece.model"), r"spiece\.model is missing"),
    ],
)
def test_all_families_report_broken_folders(
    tmp_path: Path, make: Callable[..., Path], damage: Callable[[Path], Any], message: str
) -> None:
    folder = make(tmp_path / "model")
    damage(folder)
    with pytest.raises(ModelError, match=message):
        translator(folder)


@pytest.mark.parametrize(
    ("make", "name", "values"),
    [
        (t5, "tokenizer_config.json", {"extra_ids": 300_000_000}),
        (t5, "tokenizer_config.json", {"extra_ids": "many"}),
        (nllb, "tokenizer.json", {"added_tokens": ["a"]}),
        (nllb, "tokenizer.json", {"added_tokens": [{"id": "a", "content": []}]}),
        (nllb, "special_tokens_map.json", {"additional_special_tokens": [{"x": 1}]}),
        (nllb, "special_tokens_map.json", {"additional_special_tokens": ["a", "a", "b", "c", "d", "e"]}),
        (nllb, "tokenizer_config.json", {"src_lang": []}),
        (nllb, "tokenizer_config.json", {"tgt_lang": {}}),
    ],
)
def test_malformed_vocabulary_is_at_most_one_clear_error(
    tmp_path: Path, make: Callable[..., Path], name: str, values: dict[str, Any]
) -> None:
    folder = make(tmp_path / "model")
    if not (folder / name).exists():
        (folder / name).write_text("{}")
    edit(folder, name, **values)
    with pytest.raises(ModelError, match=re.escape(str(folder))):
        translator(folder)


def test_import_overwrites_only_native_folders(tmp_path: Path, marian_folder: Path) -> None:
    copy_folder(marian_folder, tmp_path / "self")
    before = {path.name: path.read_bytes() for path in (tmp_path / "self").iterdir()}
    other = t5(tmp_path / "other")
    for folder in ("self", "other"):
        assert main(["import", str(tmp_path / "self"), str(tmp_path / folder)]) == 2
    assert {path.name: path.read_bytes() for path in (tmp_path / "self").iterdir()} == before
    assert (other / "spiece.model").exists()
    shipped = Path(__file__).parents[3] / "assets" / "models" / "toy"
    ours = Path(shutil.copytree(shipped, tmp_path / "ours"))
    measured = ("confidence.json", "reliability.json", "heads.json", "pruning.json")  # measured on the replaced weights
    for name in measured:
        (ours / name).write_text("{}")
    assert main(["import", str(marian_folder), str(ours)]) == 0
    assert not set(measured) & {path.name for path in ours.iterdir()}
    assert output_ids(translator(ours)) == output_ids(translator(copy_folder(ours, tmp_path / "again")))


def test_typed_language_mark_replaces_default(tmp_path: Path, marian_folder: Path) -> None:
    ours = translator(marian_folder)
    assert ours.translate("Hallo").source_tokens[0].text == ">>fra<<"
    for text in (">>deu<< Hallo", ">>fra<< Hallo"):
        tokens = ours.translate(text).source_tokens
        assert [token.text for token in tokens if ">>" in token.text] == [text[:7]]
        assert ours.translate_lines([text]) == [ours.translate(text).text]
        assert ours.translate(text).text == ours.translate("Hallo", target_language=text[2:5]).text
    t5_translator = translator(t5(tmp_path / "t5"))
    typed, selected = (
        t5_translator.translate("translate English to French: Hi"),
        t5_translator.translate("Hi", target_language="French"),
    )
    assert [token.id for token in typed.source_tokens] == [token.id for token in selected.source_tokens]
    assert typed.text == selected.text


def test_commands_accept_hub_ids(
    tmp_path: Path, marian_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["translate", "--device", "cpu", "--step-weights", "plain", "--model"]
    with local_hub(monkeypatch, tmp_path / "home") as hub:
        for name in ("me/opus", "me/gpt2"):
            hub.repositories[name] = Repository()
        hub.repositories["me/opus"].push({path.name: path.read_bytes() for path in marian_folder.iterdir()})
        hub.repositories["me/gpt2"].push(marian_files(config__json=b'{"model_type": "gpt2"}'))
        hub.repositories["me/gpt2"].config = {"model_type": "gpt2"}
        assert main([*command, "me/opus", TEXTS[0]]) == 2  # no terminal to confirm on
        assert "python -m headlight import me/opus FOLDER --yes" in capsys.readouterr().err
        fetch("me/opus")
        assert main([*command, "me/opus", TEXTS[0]]) == 0
        assert capsys.readouterr().out.rstrip("\n") == translator(marian_folder).translate(TEXTS[0]).text
        assert main(["import", "me/gpt2", str(tmp_path / "gpt2"), "--yes"]) == 2
        assert "Nothing was downloaded" in capsys.readouterr().err
        assert not [each for each in hub.requests if "me/gpt2/resolve" in each.path]
        assert main(["import", "me/opus@main", str(tmp_path / "twice"), "--revision", "main"]) == 2
        assert main(["import", "", str(tmp_path / "nothing")]) == 2


def test_damaged_native_defaults_are_rejected(tmp_path: Path, nllb_folder: Path) -> None:
    assert main(["import", str(nllb_folder), str(tmp_path / "ours")]) == 0
    for name, message in (
        ("habits.json", "does not contain valid generation defaults"),
        ("languages.json", "does not list languages"),
    ):
        folder = Path(shutil.copytree(tmp_path / "ours", tmp_path / name))
        (folder / name).write_text("{}")
        with pytest.raises(ModelError, match=f"{name} differs from its checksum"):
            translator(folder)
        (folder / "SHA256SUMS").write_text(
            "".join(line for line in (folder / "SHA256SUMS").read_text().splitlines(keepends=True) if name not in line)
        )
        with pytest.raises(ModelError, match=f"has no checksum of {name}|{message}"):
            translator(folder)


def test_native_folders_have_plain_defaults(tmp_path: Path) -> None:
    shipped = Path(__file__).parents[3] / "assets" / "models" / "toy"
    ours = translator(shipped)
    assert ours.request("Hallo").options == DecodingOptions()
    assert (ours.generation_defaults.never, ours.generation_defaults.counted, ours.generation_defaults.ended_first) == (
        None,
        "before",
        True,
    )
    assert isinstance(ours.source_tokenizer, Tokenizer)
