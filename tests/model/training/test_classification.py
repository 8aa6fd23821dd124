"""Training classifiers: the same loop as for translation, with labels."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from headlight.model.commands.main import main
from headlight.model.core.classifier import SelfAttentionClassifier
from headlight.model.errors import TrainingError
from headlight.model.families.loading import load_checkpoint
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.training.batches import RaggedArray, Sentences
from headlight.model.training.classification import LABEL_SCALE, ClassifierLosses, encode, make_batch, parse_probability
from headlight.model.training.classification import make_classifier as make_untrained
from headlight.model.training.corpora import CorpusSpec, Pair, read_pairs
from headlight.model.training.evaluate import read_labelled
from headlight.model.training.initial_weights import check_start_exists, load_word_vectors
from headlight.model.training.prepare import CorpusText, Tokenizers
from headlight.model.training.recipe import Recipe
from headlight.model.translate.judge import Judge
from tests.compare import assert_close
from tests.model.core.test_classifier import make_classifier
from tests.model.families.classifier_folders import bert
from tests.model.training.examples import SPECIAL, make_recipe, recipe_text
from workshop.data.__main__ import main as workshop

ASSETS = Path(__file__).resolve().parents[3] / "assets"
MULTI_LABEL = "multi_label_classification"
TOY = ASSETS / "models" / "toy"
PRAISE = ["a warm film", "what a lovely story", "funny and wise", "I loved every minute", "a great cast"]
COMPLAINT = ["a cold film", "what a tired story", "loud and dull", "I hated every minute", "a wasted cast"]


def write_reviews(path: Path) -> None:
    lines = [f"1\t{text}" for text in PRAISE] + [f"0\t{text}" for text in COMPLAINT]
    path.write_text("label\ttext\n" + "".join(f"{line}\n" for line in lines), encoding="utf-8")


COLUMNS: dict[str, Any] = {"source_column": 1, "target_column": 0, "header": True}
FIELDS: dict[str, Any] = {
    "name": "reviews",
    "task": "classification",
    "source_language": "en",
    "corpora": [{"source": "reviews.tsv", **COLUMNS, "weight": 8.0}],
    "validation": [{"source": "reviews.tsv", **COLUMNS}],
    "cleaning": {"max_ratio": 1000.0},
    "tokenizer": {"vocabulary": 300, "minimum_frequency": 1},
    "model": {"d_model": 16, "heads": 2, "head_width": 8, "dropout": 0.0},
    "optimisation": {"peak_rate": 0.01, "warmup_steps": 5, "schedule": "constant", "label_smoothing": 0.0},
    "batching": {"batch_tokens": 400, "max_sentence_tokens": 64},
    "steps": 60,
    "validate_every": 60,
}


def test_classifier_is_trained_exported_evaluated_and_labels_texts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADLIGHT_DEVICE", "cpu")
    write_reviews(tmp_path / "reviews.tsv")
    (tmp_path / "recipe.json").write_text(recipe_text(**FIELDS), encoding="utf-8")
    run, folder = tmp_path / "run", tmp_path / "judge"
    assert main(["train", str(tmp_path / "recipe.json"), "--data", str(tmp_path), "--run", str(run)]) == 0
    assert "accuracy" in (run / "validation.csv").read_text(encoding="utf-8")
    assert main(["export", "--run", str(run), "--to", str(folder), "--weights", "last"]) == 0
    judge = Judge.load(folder, device="cpu")
    assert all(judge.judge(text).verdict == "positive" for text in PRAISE)
    assert all(judge.judge(text).verdict == "negative" for text in COMPLAINT)
    capsys.readouterr()
    assert main(["evaluate", "--model", str(folder), "--source", str(tmp_path / "reviews.tsv")]) == 0
    assert "accuracy 100.00% of 10 texts" in capsys.readouterr().out
    long_reviews = [f"1\t{'. '.join(PRAISE)}.", "0\tToo short.", f"0\t{'! '.join(COMPLAINT)}! A warm film!"]
    (tmp_path / "long.tsv").write_text(
        "label\ttext\n" + "".join(f"{each}\n" for each in long_reviews), encoding="utf-8"
    )
    command = ["judged", "long", "long.tsv", "--data", str(tmp_path), "--by", str(folder), str(folder)]
    assert workshop(command) == 0
    assert "judged/long.tsv: sentences: 10; " in capsys.readouterr().out.replace("\\", "/")
    pairs = list(read_pairs(CorpusSpec(source="judged/long.tsv", **COLUMNS), tmp_path))
    assert [pair.source.rstrip(".!") for pair in pairs] == [
        text.lower() for text in PRAISE + COMPLAINT
    ]  # without duplicates
    probabilities = judge.probabilities([pair.source for pair in pairs])
    assert [float(pair.target) for pair in pairs] == pytest.approx([each[-1] for each in probabilities], abs=6e-4)
    assert workshop([*command, "--apart", str(tmp_path / "reviews.tsv")]) != 0  # excludes every sentence
    assert "No sentence" in capsys.readouterr().err
    assert workshop([*command, "--but-one-in", "3"]) == 0  # without the first and the fourth review
    assert "judged/long.tsv: sentences: 6; " in capsys.readouterr().out.replace("\\", "/")
    for other in (TOY, bert(tmp_path / "three"), bert(tmp_path / "each", classes=2, problem_type=MULTI_LABEL)):
        assert workshop(["judged", "none", "reviews.tsv", "--data", str(tmp_path), "--by", str(other)]) != 0
    for name in ("", "../up", "a/b", str(tmp_path / "x")):
        with pytest.raises(SystemExit):
            workshop(["judged", name, "reviews.tsv", "--data", str(tmp_path), "--by", str(folder)])
    (tmp_path / "short.tsv").write_text("label\ttext\n1\tFine.\n", encoding="utf-8")
    assert workshop(["judged", "none", "short.tsv", "--data", str(tmp_path), "--by", str(folder)]) != 0
    assert "No sentence of 3 to 40 words" in capsys.readouterr().err
    assert not (tmp_path / "judged" / "none.tsv").exists()


def test_labels_may_be_probabilities() -> None:
    words = Tokenizer.train(PRAISE + COMPLAINT, 300, minimum_frequency=1)
    model, recipe, tokenizers = make_classifier(vocabulary=300), make_recipe(**FIELDS), Tokenizers(words, words)
    pairs = [Pair("fine", "0.25"), Pair("dull", "0"), Pair("warm", "1")]
    sentences = encode(CorpusText(pairs, [0, 0, 0], (1.0,), ""), tokenizers, recipe)
    batch = make_batch(sentences, torch.tensor([0, 1, 2]).numpy(), SPECIAL)
    assert batch.positive.tolist() == [0.25, 0, 1]
    positive_loss = -torch.nn.functional.logsigmoid(model(batch.ids))
    negative_loss = -torch.nn.functional.logsigmoid(-model(batch.ids))
    expected = 0.25 * positive_loss[0] + 0.75 * negative_loss[0] + negative_loss[1] + positive_loss[2]
    assert float(ClassifierLosses(model, 0.0)(batch).plain) == pytest.approx(float(expected), abs=1e-5)


@pytest.mark.parametrize("label", ["1.5", "-0.1", "good", "", "nan"])
def test_invalid_probability_label_is_reported(label: str) -> None:
    with pytest.raises(TrainingError, match=re.escape(repr(label))):
        parse_probability(label)


def test_batch_has_texts_with_end_token_and_labels() -> None:
    sentences = Sentences(
        RaggedArray([[5, 6, 7], [8]]), RaggedArray([[LABEL_SCALE], [0]]), torch.zeros(2).numpy(), (1.0,)
    )
    batch = make_batch(sentences, torch.tensor([1, 0]).numpy(), SPECIAL)
    end, pad = SPECIAL.source_end, SPECIAL.pad
    assert batch.ids.tolist() == [[8, end, pad, pad], [5, 6, 7, end]]
    assert batch.positive.tolist() == [0, 1]


def test_label_smoothing_weights_both_classes() -> None:
    model = make_classifier()
    batch = make_batch(
        Sentences(RaggedArray([[5, 6, 7]]), RaggedArray([[LABEL_SCALE]]), torch.zeros(1).numpy(), (1.0,)),
        torch.tensor([0]).numpy(),
        SPECIAL,
    )
    log_odds = model(batch.ids)[0]
    positive_loss, negative_loss = -torch.nn.functional.logsigmoid(log_odds), -torch.nn.functional.logsigmoid(-log_odds)
    losses = ClassifierLosses(model, 0.2)(batch)
    assert float(losses.plain) == pytest.approx(float(positive_loss), abs=1e-6)
    assert float(losses.smoothed) == pytest.approx(0.9 * float(positive_loss) + 0.1 * float(negative_loss), abs=1e-6)


def test_token_dropout_replaces_tokens_but_keeps_end() -> None:
    model = make_classifier()
    text = list(range(4, 12)) * 25
    batch = make_batch(
        Sentences(RaggedArray([text]), RaggedArray([[LABEL_SCALE]]), torch.zeros(1).numpy(), (1.0,)),
        torch.tensor([0]).numpy(),
        SPECIAL,
    )
    inputs: list[torch.Tensor] = []
    model.register_forward_pre_hook(lambda _, args: inputs.append(args[0]))
    losses = ClassifierLosses(model, 0.0, left_out=0.25)
    torch.manual_seed(1)
    first = losses(batch)
    torch.manual_seed(1)
    again = losses(batch)
    losses(batch)
    pad = model.config.pad_id
    dropped = (inputs[0] == pad) & (batch.ids != pad)
    assert 20 < int(dropped.sum()) < 80  # of 200
    assert inputs[0][~dropped].equal(batch.ids[~dropped])
    assert int(inputs[0][0, -1]) == SPECIAL.source_end == model.config.end_id
    assert float(first.smoothed) == float(again.smoothed), "the same seed drops the same tokens"
    assert not inputs[2].equal(inputs[0]), "another step drops other tokens"
    expected = torch.nn.functional.binary_cross_entropy_with_logits(model(inputs[0])[0], torch.tensor(1.0))
    assert float(first.plain) == pytest.approx(float(expected), abs=1e-6)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"task": "poetry"}, "task must be one of: translation, classification"),
        ({"tokenizer": {"shared": False}}, "tokenizer.shared must be true"),
        ({"tokenizer": {"source_dropout": 0.1}}, "source_dropout is for translation"),
        ({"noise": {"left_out": 1.0}}, r"noise.left_out is 1, but must be in \[0, 1\)"),
        ({"model": {"encoder_layers": 2}}, "encoder_layers"),
        ({"model": {"vocabulary": 7}}, "the tokenizer decides that"),
        ({"start": "a", "vectors_from": "b"}, "Set one of them"),
    ],
)
def test_invalid_classifier_recipes_are_rejected(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(TrainingError, match=message):
        make_recipe(**(FIELDS | fields))


def toy_vector_classifier(d_model: int) -> tuple[Recipe, Tokenizers, SelfAttentionClassifier]:
    """A classifier with the toy's German vocabulary, to be initialised with the toy's word vectors."""
    recipe = make_recipe(**(FIELDS | {"vectors_from": str(TOY), "model": FIELDS["model"] | {"d_model": d_model}}))
    tokenizer = Tokenizer.load(TOY / "source_tokenizer.json")
    tokenizers = Tokenizers(tokenizer, tokenizer)
    torch.manual_seed(0)
    return recipe, tokenizers, make_untrained(recipe, tokenizers)


def test_loaded_word_vectors_keep_cosine_similarities() -> None:
    known = load_checkpoint(TOY).model.state_dict()["encoder.embedding.table.weight"]
    centred = known - known.mean(dim=0)
    recipe, tokenizers, model = toy_vector_classifier(known.shape[1])
    random = model.embedding.table.weight.detach().clone()
    load_word_vectors(model, recipe, tokenizers)
    vectors = model.embedding.table.weight.detach()

    def cosines(rows: torch.Tensor) -> torch.Tensor:
        directions = torch.nn.functional.normalize(rows, dim=1)
        return directions @ directions.T

    assert_close(cosines(vectors), cosines(centred), tolerance=1e-4)
    assert_close(vectors.norm(dim=1), random.norm(dim=1).mean().expand(len(vectors)), tolerance=1e-4)


def test_smaller_width_keeps_principal_components() -> None:
    known = load_checkpoint(TOY).model.state_dict()["encoder.embedding.table.weight"]
    centred = known - known.mean(dim=0)
    recipe, tokenizers, model = toy_vector_classifier(16)
    load_word_vectors(model, recipe, tokenizers)
    left, sizes, _ = torch.linalg.svd(centred, full_matrices=False)
    expected = torch.nn.functional.normalize(left[:, :16] * sizes[:16], dim=1)
    vectors = torch.nn.functional.normalize(model.embedding.table.weight.detach(), dim=1)
    assert_close((vectors @ vectors.T).abs(), (expected @ expected.T).abs(), tolerance=1e-3)


def test_too_narrow_or_missing_word_vectors_are_rejected(tmp_path: Path) -> None:
    recipe, tokenizers, model = toy_vector_classifier(1024)
    with pytest.raises(TrainingError, match="Lower d_model to this size"):
        load_word_vectors(model, recipe, tokenizers)
    missing = make_recipe(**(FIELDS | {"vectors_from": str(tmp_path)}))
    with pytest.raises(TrainingError, match="vectors_from"):
        check_start_exists(missing)


def test_translation_recipe_needs_target_language() -> None:
    with pytest.raises(TrainingError, match="target_language is missing"):
        make_recipe(target_language="")


def test_token_dropout_is_rejected_for_translation() -> None:
    with pytest.raises(TrainingError, match="left_out is for classification"):
        make_recipe(noise={"left_out": 0.1})


def test_classifier_recipe_gives_configuration() -> None:
    recipe = make_recipe(**FIELDS)
    assert isinstance(recipe, Recipe)
    assert recipe.classifier_config(vocabulary=300).head_width == 8


def test_invalid_review_tables_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "reviews.tsv"
    path.write_text("label\ttext\n1\tfine\n5\tvery fine\n", encoding="utf-8")
    with pytest.raises(TrainingError, match="contains the label '5'"):
        read_labelled(path)
    path.write_text("1\tfine\n", encoding="utf-8")
    with pytest.raises(TrainingError, match="must begin with the line"):
        read_labelled(path)
    path.write_text("label\ttext\n", encoding="utf-8")
    with pytest.raises(TrainingError, match="contains no text"):
        read_labelled(path)
    path.write_text("label\ttext\n3\tfine\n", encoding="utf-8")
    (tmp_path / "recipe.json").write_text(recipe_text(**FIELDS), encoding="utf-8")
    assert main(["train", str(tmp_path / "recipe.json"), "--data", str(tmp_path), "--run", str(tmp_path / "run")]) != 0


def test_one_in_and_but_one_in_split_a_corpus(tmp_path: Path) -> None:
    write_reviews(tmp_path / "reviews.tsv")
    columns: dict[str, Any] = {"source": "reviews.tsv", **COLUMNS}
    all_pairs = list(read_pairs(CorpusSpec(**columns), tmp_path))
    validation = list(read_pairs(CorpusSpec(**columns, one_in=4), tmp_path))
    training = list(read_pairs(CorpusSpec(**columns, but_one_in=4), tmp_path))
    assert validation == all_pairs[::4]
    assert sorted(validation + training) == sorted(all_pairs)
    for fields in ({"one_in": 1}, {"one_in": 2, "but_one_in": 2}, {"but_one_in": -3}):
        with pytest.raises(TrainingError, match="one_in or but_one_in"):
            CorpusSpec(**columns, **fields)


def test_accuracy_is_reported_by_kind(tmp_path: Path) -> None:
    path = tmp_path / "reviews.tsv"
    path.write_text("label\ttext\tkind\n1\tfine\tplain\n0\tnot fine\tdenied\n1\tgood\tplain\n", encoding="utf-8")
    labelled = read_labelled(path)
    assert labelled == ([1, 0, 1], ["fine", "not fine", "good"], ["plain", "denied", "plain"])
    assert labelled.accuracy_by_kind([1, 1, 0]) == {"plain": 0.5, "denied": 0.0}
    path.write_text("label\ttext\n1\tfine\n", encoding="utf-8")
    assert not read_labelled(path).kinds


def test_evaluation_reports_accuracy_without_each_head(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, path = ASSETS / "models" / "sentiment", ASSETS / "corpora" / "reviews.tsv"
    assert main(["evaluate", "--model", str(folder), "--source", str(path), "--heads-off"]) == 0
    output = capsys.readouterr().out
    config = Judge.load(folder, device="cpu").model.config
    assert output.count("layer ") == config.layers * config.heads
    assert all(f"{kind}: " in output for kind in ("negated", "contrasted", "intensified"))
    full, *without = [float(number) for number in re.findall(r"(?:accuracy |: )([\d.]+)% (?:of|\()", output)]
    assert len(without) == config.layers * config.heads
    assert any(accuracy != full for accuracy in without)


def test_corpus_can_be_filtered_by_words(tmp_path: Path) -> None:
    (tmp_path / "all.tsv").write_text("It didn't work.\t0\nNotable.\t1\nNot it.\t0\nknots\t1\n", encoding="utf-8")
    spec = CorpusSpec(source="all.tsv", having=("not", "n't"))
    assert [pair.source for pair in read_pairs(spec, tmp_path)] == ["It didn't work.", "Not it."]
    with pytest.raises(TrainingError, match="list of words"):
        CorpusSpec(source="all.tsv", having="not")  # type: ignore[arg-type]
