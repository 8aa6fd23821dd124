"""Edge cases of third-party folders: added tokens, several targets and ends, unusual vocabularies and weights."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from headlight.model.checkpoints.pickle_store import PICKLED_INDEX
from headlight.model.checkpoints.unsupported_formats import unsupported_format
from headlight.model.commands.main import main
from headlight.model.core.positions import sinusoidal_table
from headlight.model.decoding.generation_defaults import GenerationDefaults
from headlight.model.errors import ModelError
from headlight.model.families.hub import fetch, find_folder, read_id
from headlight.model.families.language_codes import default_target
from tests.hub_server import Repository, local_hub
from tests.model.families.folders import (
    CODES,
    SENTENCES,
    copy_folder,
    m2m,
    marian,
    nllb,
    piece_texts,
    reference,
    reference_ids,
    reference_outputs,
    t5,
    token_ids,
    translator,
)

TEXTS = SENTENCES[:4]


@pytest.fixture(scope="module")
def marian_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return marian(
        tmp_path_factory.mktemp("opus") / "model", codes=("fra", "deu"), activation_function="gelu", shaken=(5, 2.0)
    )


@pytest.fixture(scope="module")
def m2m_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return m2m(tmp_path_factory.mktemp("m2m") / "model")


@pytest.fixture(scope="module")
def nllb_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nllb(tmp_path_factory.mktemp("nllb") / "model")


def edit(folder: Path, name: str, **values: Any) -> None:
    """Change fields of a JSON file; None removes one."""
    path = folder / name
    content = (json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}) | values
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))


# ------------------------------------------------------------ added tokens


def published_nllb_ids(folder: Path, *added: str) -> dict[str, int]:
    """The ids of a published NLLB: pieces, then languages, the mask, and added tokens."""
    first = len(piece_texts((folder / "sentencepiece.bpe.model").read_bytes())) + 1
    return {text: first + index for index, text in enumerate([*CODES, "<mask>", *added])}


def fast_tokenizer_json(ids: dict[str, int], plain: tuple[str, ...] = ()) -> dict[str, Any]:
    special = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
    return {
        "added_tokens": [
            {"id": token_id, "content": text, "special": text not in plain}
            for text, token_id in (special | ids).items()
        ]
    }


@pytest.mark.parametrize("file", ["tokenizer.json", "added_tokens_decoder", "added_tokens.json"])
def test_language_added_after_nllb_mask_has_its_stored_id(tmp_path: Path, nllb_folder: Path, file: str) -> None:
    folder = copy_folder(nllb_folder, tmp_path / "model")
    ids = published_nllb_ids(folder, "tyv_Cyrl")
    if file == "tokenizer.json":
        (folder / file).write_text(json.dumps(fast_tokenizer_json(ids)))
    elif file == "added_tokens.json":
        edit(folder, file, tyv_Cyrl=ids["tyv_Cyrl"])
    else:
        table = {str(token_id): {"content": text, "special": True} for text, token_id in ids.items()}
        edit(folder, "tokenizer_config.json", added_tokens_decoder=table)
    ours = translator(folder)
    for code in (*CODES, "tyv_Cyrl"):
        assert ours.languages.tokens_for(target=code).first == (ids[code],), code
        assert ours.languages.tokens_for(source=code).before == (ids[code],), code
    assert ours.source_tokenizer.label(ids["<mask>"]) == "<mask>"
    assert len(ours.languages.targets) == len(CODES) + 1
    assert ours.translate(TEXTS[0], target_language="tyv_Cyrl").target_tokens[0].text == "tyv_Cyrl"
    assert token_ids(ours.translate_batch(TEXTS)) == token_ids(translator(nllb_folder).translate_batch(TEXTS))


def test_added_word_is_one_token_and_not_a_language(tmp_path: Path, nllb_folder: Path) -> None:
    folder = copy_folder(nllb_folder, tmp_path / "model")
    ids = published_nllb_ids(folder, "Müllerei")
    (folder / "tokenizer.json").write_text(json.dumps(fast_tokenizer_json(ids, plain=("Müllerei",))))
    ours = translator(folder)
    assert [language.code for language in ours.languages.targets] == CODES
    tokens = ours.translate("Die Müllerei fährt.", beam_size=1).source_tokens
    assert [token.text for token in tokens if token.id == ids["Müllerei"]] == ["Müllerei"]


@pytest.mark.parametrize(
    ("ids", "message"),
    [({"tyv_Cyrl": 7}, "both have the id 7"), ({"tyv_Cyrl": 10**6}, "has the id 1,000,000"), ({"a": "b"}, "whole num")],
)
def test_invalid_added_token_id_raises(tmp_path: Path, nllb_folder: Path, ids: dict[str, Any], message: str) -> None:
    folder = copy_folder(nllb_folder, tmp_path / "model")
    (folder / "added_tokens.json").write_text(json.dumps(ids))
    with pytest.raises(ModelError, match=message):
        translator(folder)


def test_language_added_to_m2m100_can_be_selected(tmp_path: Path, m2m_folder: Path) -> None:
    folder = copy_folder(m2m_folder, tmp_path / "model")
    token_id = len(json.loads((folder / "vocab.json").read_text())) + 100
    edit(folder, "added_tokens.json", __tlh__=token_id, __af__=token_id - 100)
    ours = translator(folder)
    assert ours.languages.tokens_for(source="tlh", target="tlh").before == (token_id,)
    assert ours.languages.tokens_for(target="tlh").first == (token_id,)
    assert len(ours.languages.targets) == 101
    result = ours.translate(TEXTS[0], target_language="tlh")
    assert [[token.id for token in result.target_tokens]] == reference_ids(
        folder, token_ids([result], "source"), forced_bos_token_id=token_id
    )


# ------------------------------------------------------------ choice of language


def test_small100_reads_target_language_before_source(tmp_path: Path, m2m_folder: Path) -> None:
    folder = copy_folder(m2m_folder, tmp_path / "model")
    edit(folder, "tokenizer_config.json", tokenizer_class="SMALL100Tokenizer", src_lang=None, tgt_lang=None)
    ours = translator(folder)
    assert (ours.languages.sources, ours.languages.target) == ((), "en")
    theirs = transformers.M2M100Tokenizer.from_pretrained(m2m_folder)
    for code in ("fr", "zh"):
        result = ours.translate(TEXTS[0], target_language=code)
        source = [token.id for token in result.source_tokens]
        assert source == [theirs.get_lang_id(code), *theirs(TEXTS[0], add_special_tokens=False).input_ids, 2]
        assert token_ids([result]) == reference_ids(folder, [source])  # no first token is forced
        assert result.target_tokens[0].text != f"__{code}__"
    edit(folder, "tokenizer_config.json", tgt_lang="de")
    assert translator(folder).languages.target == "de"


@pytest.mark.parametrize(
    ("make", "tokenizer_class", "config_file"),
    [
        (marian, "ByT5Tokenizer", "config.json"),
        (t5, "BigBirdTokenizer", "tokenizer_config.json"),
        (m2m, "IndicTransTokenizer", "tokenizer_config.json"),
        (marian, "BertTokenizerFast", "tokenizer_config.json"),
    ],
)
def test_unsupported_tokenizer_class_is_named(
    tmp_path: Path, make: Callable[..., Path], tokenizer_class: str, config_file: str
) -> None:
    folder = make(tmp_path / "model")
    edit(folder, "tokenizer_config.json", tokenizer_class=None)
    edit(folder, config_file, tokenizer_class=tokenizer_class)
    (folder / "spiece.model").unlink(missing_ok=True)
    with pytest.raises(ModelError, match=f"its tokenizer, {tokenizer_class.removesuffix('Fast')}, is not supported"):
        translator(folder)


@pytest.mark.parametrize(
    ("codes", "settings", "expected"),
    [
        (("zsm_Latn", "arg", "fra", "ita"), {}, "fra"),
        (("zsm_Latn", "arg", "fra", "ita"), {"source_lang": "en", "target_lang": "ita"}, "ita"),
        (("ewe", "eng", "deu"), {"source_lang": "eng", "target_lang": "mul"}, "deu"),
        (("ewe", "deu", "eng"), {"source_lang": "mul"}, "eng"),
        (("fij", "cmn_Hant", "cmn_Hans", "cmn"), {"target_lang": "zh"}, "cmn"),
        (("fij", "de", "fr"), {"target_lang": "deu"}, "de"),
        (("ewe", "fij"), {}, "ewe"),
        (("eng", "eng_Latn"), {"source_lang": "en"}, "eng"),
        ((), {}, ""),
    ],
)
def test_default_target_prefers_folder_setting_then_common_language(
    tmp_path: Path, codes: tuple[str, ...], settings: dict[str, str], expected: str
) -> None:
    source, preferred = settings.get("source_lang", ""), settings.get("target_lang", "")
    assert default_target(codes, preferred=preferred, source=source) == expected


def test_command_reports_default_target_if_none_is_selected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = marian(tmp_path / "model", codes=("ewe", "zsm", "fra", "deu"))
    edit(folder, "tokenizer_config.json", source_lang="eng", target_lang="mul")
    ours = translator(folder)
    assert ours.languages.target == "fra"
    assert ours.translate(TEXTS[0]).source_tokens[0].text == ">>fra<<"
    edit(folder, "tokenizer_config.json", target_lang="deu")
    assert translator(folder).languages.target == "deu"
    command = ["translate", "--model", str(folder), "--device", "cpu", "--step-weights", "plain", TEXTS[0]]
    assert main(command) == 0
    assert "Into deu, one of 4 languages: name another with --to." in capsys.readouterr().err
    assert main([*command, "--to", "fra"]) == 0
    assert "Into" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "prefix", ["translate French to English : ", "Translate French to English:", "translate  French to English: "]
)
def test_spaces_in_t5_prefix_do_not_change_language_names(tmp_path: Path, prefix: str) -> None:
    folder = t5(tmp_path / "model", tasks=False)
    edit(folder, "config.json", task_specific_params={"translation_fr_to_en": {"prefix": prefix}})
    languages = translator(folder).languages
    assert (languages.source, languages.target) == ("French", "English")
    assert languages.tokens_for().text == prefix


# ------------------------------------------------------------ positions and end tokens


@pytest.mark.parametrize("sides", [("encoder", "decoder"), ("decoder",)])
def test_stored_marian_positions_that_are_not_sinusoids_are_used(
    tmp_path: Path, marian_folder: Path, sides: tuple[str, ...]
) -> None:
    folder = copy_folder(marian_folder, tmp_path / "model")
    tensors = load_file(folder / "model.safetensors")
    generator = torch.Generator().manual_seed(5)
    for side in sides:
        tensors[f"model.{side}.embed_positions.weight"] = torch.randn(71, 77, generator=generator)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    ours = translator(folder)
    assert ours.model.config.positions == "learned"
    result = ours.translate(TEXTS[0])
    source = [token.id for token in result.source_tokens]
    decoder_ids = [ours.model.config.start_id, *(token.id for token in result.target_tokens)][:-1]
    expected = reference_outputs(folder, source, decoder_ids)
    assert torch.tensor(result.attention.cross).allclose(expected["cross"], atol=1e-4)
    assert torch.tensor(result.attention.encoder).allclose(expected["encoder"], atol=1e-4)
    fast = translator(folder, step_weights="float32").translate(TEXTS[0])
    assert fast.target_tokens == pytest.approx(result.target_tokens) or fast.text == result.text


def test_stored_sinusoids_are_recognised(tmp_path: Path, marian_folder: Path) -> None:
    folder = copy_folder(marian_folder, tmp_path / "model")
    tensors = load_file(folder / "model.safetensors")
    for side in ("encoder", "decoder"):
        tensors[f"model.{side}.embed_positions.weight"] = sinusoidal_table(71, 77, halves=True).half()
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    assert translator(folder).model.config.positions == "sinusoidal_halves"


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("config_file", ["generation_config.json", "config.json"])
@pytest.mark.parametrize("beam", [1, 3])
def test_any_of_several_end_tokens_ends_translation(
    tmp_path: Path, marian_folder: Path, config_file: str, beam: int
) -> None:
    plain = token_ids(translator(marian_folder).translate_batch(TEXTS, beam_size=beam))
    end = plain[0][len(plain[0]) // 2]  # a token in the middle of an output
    folder = copy_folder(marian_folder, tmp_path / "model")
    edit(folder, config_file, eos_token_id=[0, end])
    if config_file == "config.json":
        (folder / "generation_config.json").unlink()
    ours = translator(folder)
    assert ours.generation_defaults.ends == (0, end)
    results = ours.translate_batch(TEXTS, beam_size=beam)
    outputs = token_ids(results)
    assert outputs != plain
    assert any(ids[-1] == end for ids in outputs)
    assert all(end not in ids[:-1] for ids in outputs)
    assert {result.stopped for result in results} <= {"end", "length"}
    if config_file == "generation_config.json":
        expected = reference_ids_until(folder, token_ids(results, "source"), (0, end), num_beams=beam)
        assert outputs == expected
    assert GenerationDefaults.from_json(ours.generation_defaults.to_json()) == ours.generation_defaults


def reference_ids_until(
    folder: Path, sources: list[list[int]], ends: tuple[int, ...], **options: Any
) -> list[list[int]]:
    """The ids that `generate` returns, up to the first of several end tokens."""
    rows = []
    for source in sources:
        with torch.no_grad():
            row = reference(folder).generate(torch.tensor([source]), **options)[0, 1:].tolist()
        last = next((index for index, token in enumerate(row) if token in ends), len(row) - 1)
        rows.append(row[: last + 1])
    return rows


# ------------------------------------------------------------ unsupported generation rules


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("rule", "rule_text"),
    [
        ({"repetition_penalty": 1.2}, "repetition_penalty = 1.2"),
        ({"do_sample": True, "top_k": 50}, "do_sample = true"),
        ({"length_penalty": -1.5}, "length_penalty = -1.5"),
        ({"begin_suppress_tokens": list(range(99))}, "begin_suppress_tokens = [0, 1, 2, 3"),
        ({"suppress_tokens": [0, 9]}, "suppress_tokens = [0, 9]"),
    ],
)
def test_unsupported_generation_rule_is_ignored_and_reported(
    tmp_path: Path, marian_folder: Path, rule: dict[str, Any], rule_text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copy_folder(marian_folder, tmp_path / "model")
    edit(folder, "generation_config.json", **rule)
    ours = translator(folder)
    assert ours.generation_defaults.left_out[0].startswith(rule_text)
    assert len(ours.generation_defaults.left_out[0]) < 80
    assert token_ids(ours.translate_batch(TEXTS)) == token_ids(translator(marian_folder).translate_batch(TEXTS))
    assert main(["translate", "--model", str(folder), "--device", "cpu", TEXTS[0]]) == 0
    assert f"omits rules of this model that it does not support: {rule_text}" in capsys.readouterr().err
    assert main(["import", str(folder), str(tmp_path / "ours")]) == 0
    assert rule_text in (tmp_path / "ours" / "README.md").read_text()
    assert translator(tmp_path / "ours").generation_defaults.left_out == ours.generation_defaults.left_out


def test_generation_defaults_of_older_imports_are_read() -> None:
    values = {
        key: value
        for key, value in json.loads(GenerationDefaults().to_json()).items()
        if key not in ("ends", "left_out")
    }
    assert GenerationDefaults.from_json(json.dumps(values)) == GenerationDefaults()


# ------------------------------------------------------------ weights


def write_shards(folder: Path) -> list[str]:
    """Replace model.safetensors by three shards of pytorch_model.bin and an index."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    files = [f"pytorch_model-0000{number}-of-00003.bin" for number in (1, 2, 3)]
    for number, file in enumerate(files):
        torch.save({name: tensors[name] for name in names[number::3]}, folder / file)
    shard_names = {name: files[index % 3] for index, name in enumerate(names)}
    (folder / PICKLED_INDEX).write_text(json.dumps({"weight_map": shard_names}))
    return files


def test_pytorch_shards_load_and_are_downloaded(
    tmp_path: Path, marian_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copy_folder(marian_folder, tmp_path / "model")
    files = write_shards(folder)
    assert token_ids(translator(folder).translate_batch(TEXTS)) == token_ids(
        translator(marian_folder).translate_batch(TEXTS)
    )
    with local_hub(monkeypatch, tmp_path / "home") as hub:
        hub.repositories["me/shards"] = Repository()
        hub.repositories["me/shards"].push({path.name: path.read_bytes() for path in folder.iterdir()})
        downloaded = fetch("me/shards")
        assert {*files, PICKLED_INDEX} < {path.name for path in downloaded.iterdir()}
        assert find_folder(read_id("me/shards")) == downloaded
        (downloaded / files[1]).unlink()
        assert find_folder(read_id("me/shards")) is None


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("../pytorch_model-00001-of-00003.bin", "only pytorch_model"),
        ("model.safetensors", "only pytorch_model"),
        ("pytorch_model-00009-of-00009.bin", "is missing"),
    ],
)
def test_pytorch_index_may_name_only_existing_shards(
    tmp_path: Path, marian_folder: Path, target: str, message: str
) -> None:
    folder = copy_folder(marian_folder, tmp_path / "model")
    write_shards(folder)
    (folder / PICKLED_INDEX).write_text(json.dumps({"weight_map": {"a": target}}))
    with pytest.raises(ModelError, match=message):
        translator(folder)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("tf_model.h5", "only TensorFlow weights"),
        ("onnx/encoder_model.onnx", "only ONNX weights"),
        ("flax_model.msgpack", "only Flax weights"),
        ("adapter_model.safetensors", "only an adapter for another model"),
        ("model.gguf", "only GGUF weights"),
    ],
)
def test_unsupported_weight_format_is_named(
    tmp_path: Path, marian_folder: Path, file: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copy_folder(marian_folder, tmp_path / "model")
    (folder / "model.safetensors").unlink()
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_bytes(b"x")
    if file.startswith("adapter"):
        (folder / "config.json").unlink()
        (folder / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelError, match=rf"it contains {message}.*save_pretrained"):
        translator(folder)
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with local_hub(monkeypatch, tmp_path / "home") as hub:
        hub.repositories["me/unsupported"] = Repository()
        hub.repositories["me/unsupported"].push(files)
        with pytest.raises(ModelError, match=f"it contains {message}"):
            fetch("me/unsupported")


def test_supported_weights_are_not_reported_as_unsupported(marian_folder: Path) -> None:
    assert unsupported_format(marian_folder) == ""
    assert unsupported_format(["config.json", "tf_model.h5", "pytorch_model.bin"]) == ""
    assert unsupported_format(["config.json", "vocab.json"]) == ""


def test_unsupported_family_raises_without_advice_to_convert(tmp_path: Path, marian_folder: Path) -> None:
    folder = copy_folder(marian_folder, tmp_path / "model")
    edit(folder, "config.json", model_type="prophetnet")
    with pytest.raises(
        ModelError, match=r"'prophetnet'.* Choose a model in one of the supported formats"
    ) as error_info:
        translator(folder)
    assert "Convert" not in str(error_info.value)
