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
from tests.hub_server import Repository, hub_of_our_own
from tests.model.families.folders import (
    CODES,
    SENTENCES,
    copied,
    generated,
    ids_of,
    m2m,
    marian,
    nllb,
    pieces_of,
    reference,
    seen,
    t5,
    translator,
)

TEXTS = SENTENCES[:4]


@pytest.fixture(scope="module")
def opus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return marian(
        tmp_path_factory.mktemp("opus") / "model", codes=("fra", "deu"), activation_function="gelu", shaken=(5, 2.0)
    )


@pytest.fixture(scope="module")
def hundred(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return m2m(tmp_path_factory.mktemp("m2m") / "model")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nllb(tmp_path_factory.mktemp("nllb") / "model")


def edit(folder: Path, name: str, **values: Any) -> None:
    """Change fields of a JSON file; None removes one."""
    path = folder / name
    content = (json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}) | values
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))


# ------------------------------------------------------------ tokens that were added


def nllb_ids(folder: Path, *more: str) -> dict[str, int]:
    """The ids of a published NLLB: pieces, languages, mask; behind them, what was added."""
    first = len(pieces_of((folder / "sentencepiece.bpe.model").read_bytes())) + 1
    return {text: first + place for place, text in enumerate([*CODES, "<mask>", *more])}


def as_fast(ids: dict[str, int], plain: tuple[str, ...] = ()) -> dict[str, Any]:
    first = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
    return {
        "added_tokens": [
            {"id": place, "content": text, "special": text not in plain} for text, place in (first | ids).items()
        ]
    }


@pytest.mark.parametrize("said", ["tokenizer.json", "added_tokens_decoder", "added_tokens.json"])
def test_a_language_behind_the_mask_of_nllb_has_the_id_that_the_folder_states(
    tmp_path: Path, many: Path, said: str
) -> None:
    folder = copied(many, tmp_path / "model")
    ids = nllb_ids(folder, "tyv_Cyrl")
    if said == "tokenizer.json":
        (folder / said).write_text(json.dumps(as_fast(ids)))
    elif said == "added_tokens.json":
        edit(folder, said, tyv_Cyrl=ids["tyv_Cyrl"])
    else:
        table = {str(place): {"content": text, "special": True} for text, place in ids.items()}
        edit(folder, "tokenizer_config.json", added_tokens_decoder=table)
    ours = translator(folder)
    for code in (*CODES, "tyv_Cyrl"):
        assert ours.languages.tokens_for(target=code).first == (ids[code],), code
        assert ours.languages.tokens_for(source=code).before == (ids[code],), code
    assert ours.source_tokenizer.label(ids["<mask>"]) == "<mask>"
    assert len(ours.languages.targets) == len(CODES) + 1
    assert ours.translate(TEXTS[0], target_language="tyv_Cyrl").target_tokens[0].text == "tyv_Cyrl"
    assert ids_of(ours.translate_batch(TEXTS)) == ids_of(translator(many).translate_batch(TEXTS))


def test_an_added_word_stays_whole_and_is_no_language(tmp_path: Path, many: Path) -> None:
    folder = copied(many, tmp_path / "model")
    ids = nllb_ids(folder, "Müllerei")
    (folder / "tokenizer.json").write_text(json.dumps(as_fast(ids, plain=("Müllerei",))))
    ours = translator(folder)
    assert [language.code for language in ours.languages.targets] == CODES
    found = ours.translate("Die Müllerei fährt.", beam_size=1).source_tokens
    assert [token.text for token in found if token.id == ids["Müllerei"]] == ["Müllerei"]


@pytest.mark.parametrize(
    ("ids", "complaint"),
    [({"tyv_Cyrl": 7}, "both have the id 7"), ({"tyv_Cyrl": 10**6}, "has the id 1,000,000"), ({"a": "b"}, "whole num")],
)
def test_an_id_that_cannot_be_is_refused(tmp_path: Path, many: Path, ids: dict[str, Any], complaint: str) -> None:
    folder = copied(many, tmp_path / "model")
    (folder / "added_tokens.json").write_text(json.dumps(ids))
    with pytest.raises(ModelError, match=complaint):
        translator(folder)


def test_a_language_that_was_added_to_m2m100_can_be_asked_for(tmp_path: Path, hundred: Path) -> None:
    folder = copied(hundred, tmp_path / "model")
    place = len(json.loads((folder / "vocab.json").read_text())) + 100
    edit(folder, "added_tokens.json", __tlh__=place, __af__=place - 100)
    ours = translator(folder)
    assert ours.languages.tokens_for(source="tlh", target="tlh").before == (place,)
    assert ours.languages.tokens_for(target="tlh").first == (place,)
    assert len(ours.languages.targets) == 101
    result = ours.translate(TEXTS[0], target_language="tlh")
    assert [[token.id for token in result.target_tokens]] == generated(
        folder, ids_of([result], "source"), forced_bos_token_id=place
    )


# ------------------------------------------------------------ which language is meant


def test_small_100_is_told_the_target_in_front_of_the_source(tmp_path: Path, hundred: Path) -> None:
    folder = copied(hundred, tmp_path / "model")
    edit(folder, "tokenizer_config.json", tokenizer_class="SMALL100Tokenizer", src_lang=None, tgt_lang=None)
    ours = translator(folder)
    assert (ours.languages.sources, ours.languages.target) == ((), "en")
    theirs = transformers.M2M100Tokenizer.from_pretrained(hundred)
    for code in ("fr", "zh"):
        result = ours.translate(TEXTS[0], target_language=code)
        source = [token.id for token in result.source_tokens]
        assert source == [theirs.get_lang_id(code), *theirs(TEXTS[0], add_special_tokens=False).input_ids, 2]
        assert ids_of([result]) == generated(folder, [source])  # and no first token is forced
        assert result.target_tokens[0].text != f"__{code}__"
    edit(folder, "tokenizer_config.json", tgt_lang="de")
    assert translator(folder).languages.target == "de"


@pytest.mark.parametrize(
    ("make", "named", "where"),
    [
        (marian, "ByT5Tokenizer", "config.json"),
        (t5, "BigBirdTokenizer", "tokenizer_config.json"),
        (m2m, "IndicTransTokenizer", "tokenizer_config.json"),
        (marian, "BertTokenizerFast", "tokenizer_config.json"),
    ],
)
def test_a_vocabulary_of_another_kind_is_named(
    tmp_path: Path, make: Callable[..., Path], named: str, where: str
) -> None:
    folder = make(tmp_path / "model")
    edit(folder, "tokenizer_config.json", tokenizer_class=None)
    edit(folder, where, tokenizer_class=named)
    (folder / "spiece.model").unlink(missing_ok=True)
    with pytest.raises(ModelError, match=f"its tokenizer, {named.removesuffix('Fast')}, is not supported"):
        translator(folder)


@pytest.mark.parametrize(
    ("codes", "settings", "chosen"),
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
def test_of_many_targets_the_folders_own_counts_else_a_common_one(
    tmp_path: Path, codes: tuple[str, ...], settings: dict[str, str], chosen: str
) -> None:
    read, wished = settings.get("source_lang", ""), settings.get("target_lang", "")
    assert default_target(codes, preferred=wished, source=read) == chosen


def test_a_folder_of_many_targets_says_which_counts_and_who_names_none_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
def test_the_spaces_of_a_prefix_of_t5_are_no_part_of_a_language(tmp_path: Path, prefix: str) -> None:
    folder = t5(tmp_path / "model", tasks=False)
    edit(folder, "config.json", task_specific_params={"translation_fr_to_en": {"prefix": prefix}})
    languages = translator(folder).languages
    assert (languages.source, languages.target) == ("French", "English")
    assert languages.tokens_for().text == prefix


# ------------------------------------------------------------ positions and ends


@pytest.mark.parametrize("sides", [("encoder", "decoder"), ("decoder",)])
def test_stored_positions_of_marian_that_are_no_sinusoids_are_used(
    tmp_path: Path, opus: Path, sides: tuple[str, ...]
) -> None:
    folder = copied(opus, tmp_path / "model")
    tensors = load_file(folder / "model.safetensors")
    dice = torch.Generator().manual_seed(5)
    for side in sides:
        tensors[f"model.{side}.embed_positions.weight"] = torch.randn(71, 77, generator=dice)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    ours = translator(folder)
    assert ours.model.config.positions == "learned"
    result = ours.translate(TEXTS[0])
    source = [token.id for token in result.source_tokens]
    written = [ours.model.config.start_id, *(token.id for token in result.target_tokens)][:-1]
    expected = seen(folder, source, written)
    assert torch.tensor(result.attention.cross).allclose(expected["cross"], atol=1e-4)
    assert torch.tensor(result.attention.encoder).allclose(expected["encoder"], atol=1e-4)
    fast = translator(folder, step_weights="float32").translate(TEXTS[0])
    assert fast.target_tokens == pytest.approx(result.target_tokens) or fast.text == result.text


def test_stored_sinusoids_stay_sinusoids(tmp_path: Path, opus: Path) -> None:
    folder = copied(opus, tmp_path / "model")
    tensors = load_file(folder / "model.safetensors")
    for side in ("encoder", "decoder"):
        tensors[f"model.{side}.embed_positions.weight"] = sinusoidal_table(71, 77, halves=True).half()
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    assert translator(folder).model.config.positions == "sinusoidal_halves"


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("where", ["generation_config.json", "config.json"])
@pytest.mark.parametrize("beam", [1, 3])
def test_each_of_several_ends_ends_a_translation(tmp_path: Path, opus: Path, where: str, beam: int) -> None:
    plain = ids_of(translator(opus).translate_batch(TEXTS, beam_size=beam))
    end = plain[0][len(plain[0]) // 2]  # a token that is written midway
    folder = copied(opus, tmp_path / "model")
    edit(folder, where, eos_token_id=[0, end])
    if where == "config.json":
        (folder / "generation_config.json").unlink()
    ours = translator(folder)
    assert ours.generation_defaults.ends == (0, end)
    results = ours.translate_batch(TEXTS, beam_size=beam)
    written = ids_of(results)
    assert written != plain
    assert any(ids[-1] == end for ids in written)
    assert all(end not in ids[:-1] for ids in written)
    assert {result.stopped for result in results} <= {"end", "length"}
    if where == "generation_config.json":
        theirs = generated_until(folder, ids_of(results, "source"), (0, end), num_beams=beam)
        assert written == theirs
    assert GenerationDefaults.from_json(ours.generation_defaults.to_json()) == ours.generation_defaults


def generated_until(folder: Path, sources: list[list[int]], ends: tuple[int, ...], **options: Any) -> list[list[int]]:
    """What `generate` writes, up to the first of several ends."""
    rows = []
    for source in sources:
        with torch.no_grad():
            row = reference(folder).generate(torch.tensor([source]), **options)[0, 1:].tolist()
        last = next((place for place, token in enumerate(row) if token in ends), len(row) - 1)
        rows.append(row[: last + 1])
    return rows


# ------------------------------------------------------------ rules that are not known


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"repetition_penalty": 1.2}, "repetition_penalty = 1.2"),
        ({"do_sample": True, "top_k": 50}, "do_sample = true"),
        ({"length_penalty": -1.5}, "length_penalty = -1.5"),
        ({"begin_suppress_tokens": list(range(99))}, "begin_suppress_tokens = [0, 1, 2, 3"),
        ({"suppress_tokens": [0, 9]}, "suppress_tokens = [0, 9]"),
    ],
)
def test_a_rule_that_is_not_known_is_left_out_and_said(
    tmp_path: Path, opus: Path, wish: dict[str, Any], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copied(opus, tmp_path / "model")
    edit(folder, "generation_config.json", **wish)
    ours = translator(folder)
    assert ours.generation_defaults.left_out[0].startswith(said)
    assert len(ours.generation_defaults.left_out[0]) < 80
    assert ids_of(ours.translate_batch(TEXTS)) == ids_of(translator(opus).translate_batch(TEXTS))
    assert main(["translate", "--model", str(folder), "--device", "cpu", TEXTS[0]]) == 0
    assert f"omits rules of this model that it does not support: {said}" in capsys.readouterr().err
    assert main(["import", str(folder), str(tmp_path / "ours")]) == 0
    assert said in (tmp_path / "ours" / "README.md").read_text()
    assert translator(tmp_path / "ours").generation_defaults.left_out == ours.generation_defaults.left_out


def test_habits_of_an_older_import_are_still_read() -> None:
    older = {
        key: value
        for key, value in json.loads(GenerationDefaults().to_json()).items()
        if key not in ("ends", "left_out")
    }
    assert GenerationDefaults.from_json(json.dumps(older)) == GenerationDefaults()


# ------------------------------------------------------------ weights


def sharded(folder: Path) -> list[str]:
    """Weights as shards of PyTorch's own form."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    files = [f"pytorch_model-0000{number}-of-00003.bin" for number in (1, 2, 3)]
    for number, file in enumerate(files):
        torch.save({name: tensors[name] for name in names[number::3]}, folder / file)
    places = {name: files[place % 3] for place, name in enumerate(names)}
    (folder / PICKLED_INDEX).write_text(json.dumps({"weight_map": places}))
    return files


def test_shards_of_pytorch_load_and_come_from_the_hub(
    tmp_path: Path, opus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copied(opus, tmp_path / "model")
    files = sharded(folder)
    assert ids_of(translator(folder).translate_batch(TEXTS)) == ids_of(translator(opus).translate_batch(TEXTS))
    with hub_of_our_own(monkeypatch, tmp_path / "home") as hub:
        hub.repositories["me/shards"] = Repository()
        hub.repositories["me/shards"].push({path.name: path.read_bytes() for path in folder.iterdir()})
        came = fetch("me/shards")
        assert {*files, PICKLED_INDEX} < {path.name for path in came.iterdir()}
        assert find_folder(read_id("me/shards")) == came
        (came / files[1]).unlink()
        assert find_folder(read_id("me/shards")) is None


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        ("../pytorch_model-00001-of-00003.bin", "only pytorch_model"),
        ("model.safetensors", "only pytorch_model"),
        ("pytorch_model-00009-of-00009.bin", "is missing"),
    ],
)
def test_an_index_of_pytorch_leads_nowhere_else(tmp_path: Path, opus: Path, target: str, complaint: str) -> None:
    folder = copied(opus, tmp_path / "model")
    sharded(folder)
    (folder / PICKLED_INDEX).write_text(json.dumps({"weight_map": {"a": target}}))
    with pytest.raises(ModelError, match=complaint):
        translator(folder)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("tf_model.h5", "only TensorFlow weights"),
        ("onnx/encoder_model.onnx", "only ONNX weights"),
        ("flax_model.msgpack", "only Flax weights"),
        ("adapter_model.safetensors", "only an adapter for another model"),
        ("model.gguf", "only GGUF weights"),
    ],
)
def test_a_folder_without_weights_that_can_be_read_is_named_as_what_it_is(
    tmp_path: Path, opus: Path, file: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copied(opus, tmp_path / "model")
    (folder / "model.safetensors").unlink()
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_bytes(b"x")
    if file.startswith("adapter"):
        (folder / "config.json").unlink()
        (folder / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelError, match=rf"it contains {words}.*save_pretrained"):
        translator(folder)
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with hub_of_our_own(monkeypatch, tmp_path / "home") as hub:
        hub.repositories["me/strange"] = Repository()
        hub.repositories["me/strange"].push(files)
        with pytest.raises(ModelError, match=f"it contains {words}"):
            fetch("me/strange")


def test_a_folder_with_weights_that_can_be_read_is_not_strange(opus: Path) -> None:
    assert unsupported_format(opus) == ""
    assert unsupported_format(["config.json", "tf_model.h5", "pytorch_model.bin"]) == ""
    assert unsupported_format(["config.json", "vocab.json"]) == ""


def test_a_family_that_nobody_reads_is_refused_without_a_promise(tmp_path: Path, opus: Path) -> None:
    folder = copied(opus, tmp_path / "model")
    edit(folder, "config.json", model_type="prophetnet")
    with pytest.raises(ModelError, match=r"'prophetnet'.* Choose a model in one of the supported formats") as caught:
        translator(folder)
    assert "Convert" not in str(caught.value)
