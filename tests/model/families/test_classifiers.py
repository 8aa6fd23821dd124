"""Third-party classifiers against `transformers` in float32: equal ids, and all numbers within 1e-4."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from headlight.model.commands.main import main
from headlight.model.core.encoder_classifier import one_vs_rest_log_odds
from headlight.model.errors import ModelError
from headlight.model.families.loading import kind_of_folder
from headlight.model.translate.judge import Judge
from headlight.model.translate.translator import Translator
from tests.compare import assert_close
from tests.model.families.classifier_folders import (
    albert,
    bert,
    deberta,
    distilbert,
    electra,
    reference,
    reference_outputs,
    reference_tokenizer,
    roberta,
)
from tests.model.families.folders import copy_folder
from tests.model.families.texts import LATIN, LINES, odd_texts

Maker = Callable[..., Path]
SHAPES: dict[str, tuple[Maker, dict[str, Any]]] = {
    "bert": (bert, {}),
    "bert with one class": (bert, {"classes": 1, "hidden_act": "gelu_new", "type_vocab_size": 1}),
    "bert with five classes, wider": (
        bert,
        {"classes": 5, "hidden_size": 28, "num_attention_heads": 2, "hidden_act": "relu", "apart": True},
    ),
    "bert with many segments": (
        bert,
        {"type_vocab_size": 7, "num_hidden_layers": 1, "layer_norm_eps": 1e-3, "tie_word_embeddings": False},
    ),
    "bert, multi-label": (bert, {"problem_type": "multi_label_classification", "classes": 4}),
    "bert, cased": (bert, {"words": {"do_lower_case": False}, "hidden_act": "silu"}),
    "distilbert": (distilbert, {}),
    "distilbert with three classes": (distilbert, {"classes": 3, "activation": "relu", "apart": True, "n_layers": 3}),
    "distilbert with sinusoids": (distilbert, {"classes": 5, "sinusoidal_pos_embds": True, "activation": "gelu_new"}),
    "roberta": (roberta, {}),
    "roberta in two files": (roberta, {"classes": 2, "apart": True, "hidden_act": "gelu_new", "type_vocab_size": 1}),
    "roberta with another padding id": (
        roberta,
        {"classes": 4, "pad_token_id": 3, "hidden_act": "relu", "problem_type": "single_label_classification"},
    ),
    "electra": (electra, {}),
    "electra with one class, wider": (
        electra,
        {"classes": 1, "hidden_size": 28, "num_attention_heads": 2, "hidden_act": "gelu_new", "apart": True},
    ),
    "electra with narrow embeddings": (electra, {"embedding_size": 12, "num_attention_heads": 2}),
    "electra with wide embeddings": (electra, {"embedding_size": 33, "classes": 2}),
    "albert": (albert, {}),
    "albert with two groups of layers": (albert, {"num_hidden_groups": 2, "classes": 2, "hidden_act": "relu"}),
    "albert with a group per layer": (albert, {"num_hidden_groups": 3, "embedding_size": 20, "type_vocab_size": 1}),
    "albert, cased, with accents": (albert, {"words": {"do_lower_case": False, "keep_accents": True}, "classes": 1}),
    "deberta v3": (deberta, {}),
    "deberta with a matrix for distances": (deberta, {"share_att_key": False, "type_vocab_size": 2, "classes": 2}),
    "deberta without buckets": (
        deberta,
        {"position_buckets": -1, "max_relative_positions": 5, "norm_rel_ebd": "none", "pos_att_type": "c2p"},
    ),
    "deberta, lower case": (
        deberta,
        {"words": {"do_lower_case": True, "split_by_punct": True}, "pos_att_type": ["p2c"], "classes": 1},
    ),
    "roberta with one class": (roberta, {"classes": 1, "hidden_size": 24, "num_attention_heads": 3}),
}
WITHIN = 1e-4
TEXTS = [LINES[0], LINES[4], LINES[11], "no", "It's cold, isn't it? 🙂"]


@pytest.fixture(scope="module", params=SHAPES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    make, fields = SHAPES[request.param]
    return make(tmp_path_factory.mktemp("classifier") / "model", **fields)


@pytest.mark.slow(after=8)
def test_all_numbers_match_transformers(folder: Path) -> None:
    judge, theirs = Judge.load(folder, device="cpu"), reference_tokenizer(folder)
    for text in TEXTS:
        judgement = judge.judge(text)
        ids = [token.id for token in judgement.tokens]
        assert ids == theirs(text).input_ids
        logits, attention = reference_outputs(folder, ids)
        assert_close(judge.model(torch.tensor([ids]))[0], logits, tolerance=WITHIN, of="logits")
        assert_close(torch.tensor(judgement.attention), attention, tolerance=WITHIN, of="attention")
        expected = logits.softmax(-1) if judgement.exclusive else logits.sigmoid()
        assert_close(torch.tensor(judgement.probabilities), expected, tolerance=WITHIN, of="probabilities")


def test_verdict_is_one_of_the_model_classes(folder: Path) -> None:
    judge, config = Judge.load(folder, device="cpu"), reference(folder).config
    verdicts = {judge.judge(text).verdict for text in LINES}
    assert judge.model.config.classes == tuple(config.id2label[index] for index in range(config.num_labels))
    if judge.model.config.exclusive:
        assert verdicts <= set(judge.model.config.classes)
    else:
        assert all(set(verdict.split(", ")) <= {*judge.model.config.classes, ""} for verdict in verdicts)


def test_batch_matches_single_texts(folder: Path) -> None:
    judge = Judge.load(folder, device="cpu")
    for probabilities, text in zip(judge.probabilities(TEXTS), TEXTS, strict=True):
        assert probabilities == pytest.approx(judge.judge(text).probabilities, abs=WITHIN)


def test_erasure_effect_is_log_odds_lost_without_word(folder: Path) -> None:
    judge = Judge.load(folder, device="cpu")
    judgement = judge.judge("The train was late again")
    assert judgement.shares is None
    effects = judge.erasure_effects(judgement)
    assert len(effects) == len(judgement.classes)
    start = judgement.text.index("late")
    (word,) = {token.word for token in judgement.tokens if not token.special and token.start == start}
    without = [token.id for token in judgement.tokens if token.word != word]
    odds_without = judge.model.log_odds(torch.tensor([without]))[0].tolist()
    position = next(position for position, token in enumerate(judgement.tokens) if token.word == word)
    for class_effects, before, after in zip(effects, judgement.class_log_odds, odds_without, strict=True):
        assert class_effects[position] == pytest.approx(before - after, abs=1e-4)
        assert (class_effects[0], class_effects[-1]) == (0, 0)  # special tokens belong to no word
    assert json.dumps(effects)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (albert, {}),
        (albert, {"do_lower_case": False, "keep_accents": True}),
        (deberta, {}),
        (deberta, {"do_lower_case": True, "split_by_punct": True}),
    ],
)
def test_unigram_ids_and_spans_match_transformers(tmp_path: Path, make: Maker, words: dict[str, Any]) -> None:
    folder = make(tmp_path / "model", words=words)
    judge, theirs = Judge.load(folder, device="cpu"), reference_tokenizer(folder)
    special = {"[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]", "<pad>", "<unk>"}
    for text in odd_texts(400):
        if any(name in text for name in special):  # typed names are text here
            continue
        tokens = judge.tokenizer.source_tokens(text)
        expected = theirs(text, return_offsets_mapping=True, add_special_tokens=False)
        assert [token.id for token in tokens[:-1]] == expected.input_ids, text
        for token, (start, end) in zip(tokens[:-1], expected.offset_mapping, strict=True):
            if token.pieces == 1 and text[start:end].strip():
                assert token.text == text[start:end].strip(), text
    typed = judge.tokenizer.encode("a [SEP] b")
    assert not {judge.tokenizer.start_id, judge.tokenizer.end_id} & set(typed)


def test_layers_share_weights_and_are_watched_one_by_one(tmp_path: Path) -> None:
    folder = albert(tmp_path / "model", num_hidden_layers=6, num_hidden_groups=2)
    judge = Judge.load(folder, device="cpu")
    assert judge.model.parameter_count() == sum(
        parameter.numel() for name, parameter in reference(folder).named_parameters() if "token_type" not in name
    )
    with judge.without_head(4, 2):
        without = judge.judge(LINES[4])
    assert without.attention[4, 2].max() == 0
    assert without.attention[3, 2].max() > 0
    for fields, says in (
        ({"num_hidden_groups": 7}, "6 layers cannot form 7 groups"),
        ({"inner_group_num": 2}, "only 1"),
    ):
        other = edit(copy_folder(folder, tmp_path / says[:6]), **fields)
        with pytest.raises(ModelError, match=says):
            Judge.load(other, device="cpu")


def test_deberta_without_tokenizer_json_is_read(tmp_path: Path) -> None:
    one, other = (Judge.load(deberta(tmp_path / str(apart), apart=apart), device="cpu") for apart in (False, True))
    for text in LATIN:
        assert one.judge(text).probabilities == pytest.approx(other.judge(text).probabilities, abs=1e-6)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"conv_kernel_size": 3}, "conv_kernel_size is 3"),
        ({"position_biased_input": True}, "position_biased_input is True"),
        ({"relative_attention": False}, "relative_attention is False"),
        ({"pos_att_type": ["p2p"]}, "pos_att_type is"),
        ({"embedding_size": 12}, "embedding_size is 12"),
        ({"position_buckets": 2}, "at least 4 buckets"),
        ({"position_buckets": 9}, r"positions.table has shape \[16, 20\]"),
    ],
)
def test_other_deberta_models_are_an_error(tmp_path: Path, fields: dict[str, Any], says: str) -> None:
    folder = edit(deberta(tmp_path / "model"), **fields)
    with pytest.raises(ModelError, match=says):
        Judge.load(folder, device="cpu")


def test_albert_without_tokenizer_json_is_read(tmp_path: Path) -> None:
    folders = [albert(tmp_path / str(apart), apart=apart) for apart in (False, True)]
    one, other = (Judge.load(folder, device="cpu") for folder in folders)
    assert [one.tokenizer.encode(text) for text in odd_texts(200)] == [
        other.tokenizer.encode(text) for text in odd_texts(200)
    ]


# ---------------------------------------------------------------- modified and unsupported folders


@pytest.fixture(scope="module")
def bert_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bert(tmp_path_factory.mktemp("one") / "model")


def edit(folder: Path, **values: Any) -> Path:
    """Change fields of config.json; None removes one."""
    path = folder / "config.json"
    content = json.loads(path.read_text(encoding="utf-8")) | values
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))
    return folder


def narrow_electra(folder: Path) -> Path:
    return electra(folder, embedding_size=12)


@pytest.mark.parametrize("make", [bert, distilbert, roberta, narrow_electra, albert, deberta])
def test_imported_folder_gives_same_probabilities(tmp_path: Path, make: Maker) -> None:
    theirs = make(tmp_path / "theirs")
    assert main(["import", str(theirs), str(tmp_path / "ours"), "--storage", "float32"]) == 0
    before, after = (Judge.load(tmp_path / name, device="cpu") for name in ("theirs", "ours"))
    for text in TEXTS:
        assert after.judge(text).probabilities == pytest.approx(before.judge(text).probabilities, abs=1e-6)
        assert [token.text for token in after.judge(text).tokens] == [token.text for token in before.judge(text).tokens]
    assert (kind_of_folder(tmp_path / "ours"), kind_of_folder(theirs)) == ("encoder_classifier", "encoder_classifier")
    assert not (tmp_path / "ours" / "habits.json").exists()
    assert "generation" not in (tmp_path / "ours" / "README.md").read_text(encoding="utf-8")


def test_old_norm_names_and_extra_tensors_are_accepted(tmp_path: Path, bert_folder: Path) -> None:
    folder = copy_folder(bert_folder, tmp_path / "old")
    tensors = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for name, tensor in load_file(folder / "model.safetensors").items()
    }
    tensors["bert.embeddings.position_ids"] = torch.arange(61)[None]
    tensors["cls.predictions.bias"] = torch.zeros(7)
    (folder / "model.safetensors").unlink()
    torch.save(tensors, folder / "pytorch_model.bin")
    old, new = (Judge.load(path, device="cpu").judge(LINES[4]) for path in (folder, bert_folder))
    assert old.class_log_odds == pytest.approx(new.class_log_odds, abs=1e-6)


def test_unnamed_classes_are_numbered(tmp_path: Path, bert_folder: Path) -> None:
    folder = edit(copy_folder(bert_folder, tmp_path / "plain"), id2label=None, label2id=None, num_labels=3)
    assert Judge.load(folder, device="cpu").judge("no").classes == ("LABEL_0", "LABEL_1", "LABEL_2")


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "relative positions": ({"position_embedding_type": "relative_key"}, "position_embedding_type is 'relative_key'"),
    "a decoder": ({"is_decoder": True}, "is_decoder is True"),
    "cross-attention": ({"add_cross_attention": True}, "add_cross_attention is True"),
    "pruned heads": ({"pruned_heads": {"0": [1]}}, "pruned_heads is "),
    "quantised": ({"quantization_config": {"bits": 4}}, "quantization_config is "),
    "regression": ({"problem_type": "regression"}, "predicts numbers, not classes"),
    "another problem": ({"problem_type": "guessing"}, "problem_type is 'guessing'"),
    "another task": ({"architectures": ["BertForMaskedLM"]}, "contains a BertForMaskedLM.* Only text classifiers"),
    "another activation": ({"hidden_act": "gelu_fast"}, "hidden_act is 'gelu_fast', but must be one of"),
    "gaps in the classes": (
        {"id2label": {"0": "a", "2": "b"}},
        "does not name classes with consecutive numbers from 0",
    ),
    "a class without a name": ({"id2label": {"0": "a", "1": " ", "2": "c"}}, "a class without a name"),
    "too many classes": ({"id2label": {str(index): f"c{index}" for index in range(301)}}, "has 301 classes"),
    "fewer classes": ({"id2label": {"0": "a", "1": "b"}}, r"classifier.weight has shape \[3, 20\].* \[2, 20\]"),
    "another vocabulary": ({"vocab_size": 5000}, "word_embeddings.weight has shape"),
    "indivisible width": ({"num_attention_heads": 3}, "cannot be split into 3 equal heads"),
    "too many layers": ({"num_hidden_layers": 201}, "has 201 layers"),
    "more layers than weights": ({"num_hidden_layers": 4}, "the weights lack encoder.layers.3"),
    "fewer layers than weights": ({"num_hidden_layers": 2}, "the weights also contain"),
    "padding is a word": ({"pad_token_id": 33}, "no special token 33 for pad_id"),
    "no positions for text": ({"max_position_embeddings": 3}, "too short for any text"),
    "another tokenizer": (
        {"tokenizer_class": "BertJapaneseTokenizer"},
        "its tokenizer, BertJapaneseTokenizer, is not supported",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_unsupported_config_raises(tmp_path: Path, bert_folder: Path, case: str) -> None:
    fields, message = REFUSED[case]
    folder = edit(copy_folder(bert_folder, tmp_path / "model"), **fields)
    if "tokenizer_class" in fields:
        (folder / "tokenizer_config.json").unlink()
    with pytest.raises(ModelError, match=message) as error_info:
        Judge.load(folder, device="cpu")
    assert str(folder) in str(error_info.value)


def test_weights_of_another_task_raise(tmp_path: Path, bert_folder: Path) -> None:
    folder = edit(copy_folder(bert_folder, tmp_path / "model"), architectures=None)
    tensors = load_file(folder / "model.safetensors")
    save_file(
        {name: tensor for name, tensor in tensors.items() if "classifier" not in name}, folder / "model.safetensors"
    )
    with pytest.raises(ModelError, match=r"lack classifier\.weight, so they are not those of a text classifier"):
        Judge.load(folder, device="cpu")


def test_loading_wrong_model_kind_raises(tmp_path: Path, bert_folder: Path) -> None:
    with pytest.raises(ModelError, match="contains EncoderClassifier, not Transformer"):
        Translator.load(bert_folder, device="cpu")
    with pytest.raises(ModelError, match="contains Transformer, not Classifier"):
        Judge.load("toy", device="cpu")


@pytest.mark.parametrize("logits", [[1.0, 2.0, 3.0], [50.0, -50.0, 0.0], [0.0, 0.0, 0.0], [200.0, -200.0, 3.0]])
def test_one_vs_rest_log_odds_match_probability(logits: list[float]) -> None:
    for index, odds in enumerate(one_vs_rest_log_odds(torch.tensor([logits]))[0].tolist()):
        others = [*logits[:index], *logits[index + 1 :]]
        rest = max(others) + math.log(sum(math.exp(logit - max(others)) for logit in others))
        assert odds == pytest.approx(logits[index] - rest, rel=1e-5, abs=1e-5)


# ---------------------------------------------------------------- features of the bundled classifier


def test_disabled_head_has_zero_attention(bert_folder: Path) -> None:
    judge = Judge.load(bert_folder, device="cpu")
    plain = judge.judge(LINES[4])
    with judge.without_head(1, 2):
        without = judge.judge(LINES[4])
    assert without.attention[1, 2].max() == 0
    assert (without.attention[1, 3] == plain.attention[1, 3]).all()
    assert without.class_log_odds != pytest.approx(plain.class_log_odds, abs=1e-3)


def test_evaluate_reports_accuracy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = distilbert(tmp_path / "model", seed=4)  # predicts both classes
    judge = Judge.load(folder, device="cpu")
    verdicts = [judge.model.config.classes.index(judge.judge(line).verdict) for line in LINES[:6]]
    labels = [*verdicts[:4], *(1 - verdict for verdict in verdicts[4:])]  # the last two are wrong
    lines = [f"{label}\t{line}" for label, line in zip(labels, LINES, strict=False)]
    (tmp_path / "test.tsv").write_text("\n".join(["label\ttext", *lines, ""]), encoding="utf-8")
    arguments = ["--model", str(folder), "--source", str(tmp_path / "test.tsv"), "--device", "cpu"]
    assert main(["evaluate", *arguments, "--hypotheses", str(tmp_path / "probabilities.txt")]) == 0
    assert "accuracy 66.67% of 6 texts" in capsys.readouterr().out
    probabilities = [float(line) for line in (tmp_path / "probabilities.txt").read_text(encoding="utf-8").split()]
    assert probabilities == pytest.approx([judge.judge(line).probability for line in LINES[:6]], abs=1e-4)
