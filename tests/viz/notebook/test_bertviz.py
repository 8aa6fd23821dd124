"""`headlight.bertviz`: the calls of BertViz's README and notebooks, on small random models of the same families.

Its README takes `outputs[-1]`, which is empty for today's BERT, and loads models without `attn_implementation="eager"`;
both have a message. All other calls run as they are.
"""

from __future__ import annotations

import sys
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headlight
from headlight.bertviz import head_view, model_view, neuron_view
from headlight.errors import RecordingError
from headlight.model.recordings.recording import Recording
from tests.model.recordings import families
from tests.viz.notebook.test_showing import page_data

SENTENCE_A, SENTENCE_B = "the cat sat on the mat", "the dog ran on a mat"


def read(text: str, *pair: str) -> torch.Tensor:
    ids: torch.Tensor = families.tokenizer()(text, *pair, return_tensors="pt")["input_ids"]
    return ids


def names(ids: torch.Tensor) -> list[str]:
    result: list[str] = families.tokenizer().convert_ids_to_tokens(ids[0])
    return result


@pytest.fixture(scope="module")
def attention() -> Any:
    with torch.no_grad():
        return families.bert()(read(SENTENCE_A), output_attentions=True).attentions


@pytest.fixture(scope="module")
def tokens() -> list[str]:
    return names(read(SENTENCE_A))


def recording(view: Any) -> Recording:
    (source,) = view.sources
    assert isinstance(source, Recording)
    return source


def remarks(view: Any) -> dict[str, Any]:
    return {remark.word: dict(remark.values) for remark in recording(view).remarks}


def test_arguments_have_the_order_of_bertviz() -> None:
    shared = ("attention", "tokens", "sentence_b_start", "prettify_tokens")
    stacks = (
        "encoder_attention", "decoder_attention", "cross_attention", "encoder_tokens", "decoder_tokens",
        "include_layers",
    )  # fmt: skip
    assert tuple(signature(head_view).parameters) == (*shared, "layer", "heads", *stacks, "html_action")
    assert tuple(signature(model_view).parameters) == (
        *shared, "display_mode", *stacks, "include_heads", "html_action",
    )  # fmt: skip
    assert tuple(signature(neuron_view.show).parameters) == (
        "model", "model_type", "tokenizer", "sentence_a", "sentence_b", "display_mode", "layer", "head", "html_action",
    )  # fmt: skip


def test_readme_head_and_model_view(attention: Any, tokens: list[str]) -> None:
    for call in (head_view, model_view):
        view = call(attention, tokens)
        assert [token.text for token in recording(view).source] == tokens
        expected = np.stack([layer[0].numpy() for layer in attention])
        np.testing.assert_array_equal(recording(view).attention.of("self"), expected)
    assert headlight.bertviz.head_view is head_view
    assert head_view(attention, tokens).head == "mean"  # of all heads, which BertViz draws over each other


def test_readme_display_mode_and_layers(attention: Any, tokens: list[str]) -> None:
    assert recording(model_view(attention, tokens, display_mode="light")).of("self").numbers == (0, 1)
    for call in (head_view, model_view):
        assert recording(call(attention, tokens, include_layers=[1])).of("self").numbers == (1,)


def test_readme_layer_and_heads(attention: Any, tokens: list[str]) -> None:
    view = head_view(attention, tokens, layer=1, heads=[0, 2])
    assert view is not None
    assert (view.layer, view.head, view.pinned) == (1, 0, {"layer": 1, "head": 2})
    assert page_data(view)["pinned"] == {"layer": 1, "head": 2}
    all_three = head_view(attention, tokens, heads=[2, 0, 1])
    assert remarks(all_three)["overlay"] == {"heads": "3, 1, 2"}
    figure = headlight.figure("lines", all_three, heads=[(0, 2), (0, 0), (0, 1)])
    assert figure.layout.meta["figure"] == "lines"


def test_included_heads_are_selected(attention: Any, tokens: list[str]) -> None:
    view = model_view(attention, tokens, include_heads=[2, 0])
    weights = recording(view).attention.of("self")
    np.testing.assert_array_equal(weights[:, 0], np.stack([layer[0, 2].numpy() for layer in attention]))
    assert weights.shape[1] == 2
    assert remarks(view)["heads"] == {"heads": "3, 1", "count": 3}


def test_readme_sentence_pair() -> None:
    ids = read(SENTENCE_A, SENTENCE_B)
    with torch.no_grad():
        attention = families.bert()(ids, output_attentions=True).attentions
    start = len(read(SENTENCE_A)[0])
    for call in (head_view, model_view):
        view = call(attention, names(ids), start)
        assert remarks(view)["sentence_b"] == {"number": start + 1, "token": names(ids)[start]}
    with pytest.raises(RecordingError, match="sentence_b_start must be a whole number"):
        head_view(attention, names(ids), 99)


@pytest.mark.parametrize("family", ["bart", "marian"])
def test_notebooks_of_encoder_decoder_models(family: str) -> None:
    model = getattr(families, family)().model  # what AutoModel loads
    encoder_ids, decoder_ids = read(SENTENCE_A), read("a dog ran")
    with torch.no_grad():
        outputs = model(input_ids=encoder_ids, decoder_input_ids=decoder_ids, output_attentions=True)
    for call in (head_view, model_view):
        view = call(
            encoder_attention=outputs.encoder_attentions,
            decoder_attention=outputs.decoder_attentions,
            cross_attention=outputs.cross_attentions,
            encoder_tokens=names(encoder_ids),
            decoder_tokens=names(decoder_ids),
        )
        assert recording(view).kinds == ("encoder", "decoder", "cross")
        assert view.kind == "encoder"  # BertViz opens it, too
        expected = np.stack([layer[0].numpy() for layer in outputs.cross_attentions])
        np.testing.assert_array_equal(recording(view).attention.of("cross"), expected)
    only = head_view(
        encoder_attention=outputs.encoder_attentions,
        encoder_tokens=names(encoder_ids),
        decoder_tokens=names(decoder_ids),
    )
    assert recording(only).kinds == ("encoder",)


def test_notebooks_of_distilbert() -> None:
    config = transformers.DistilBertConfig(dim=12, n_layers=2, n_heads=3, hidden_dim=8, **families.SIZES)
    model = transformers.DistilBertModel(config).eval()
    model.set_attn_implementation("eager")
    inputs = read("the cat sat on the mat")
    outputs = model(inputs, output_attentions=True)
    for call in (head_view, model_view):
        assert recording(call(outputs[-1], names(inputs))).of("self").shape == (2, 3, 6, 6)


@pytest.mark.parametrize("family", ["bert", "gpt2", "roberta"])
def test_neuron_view_multiplies_queries_and_keys(family: str) -> None:
    tokenizer = families.tokenizer()
    if family == "roberta":
        config = transformers.RobertaConfig(
            hidden_size=15, num_hidden_layers=3, num_attention_heads=3, intermediate_size=7, **families.SIZES
        )
        torch.manual_seed(4)
        model: Any = transformers.RobertaModel(config).eval()
    else:
        model = families.bert() if family == "bert" else families.fused_gpt2()
    implementation = model.config._attn_implementation
    pair = () if family == "gpt2" else (SENTENCE_B,)
    view = neuron_view.show(model, family, tokenizer, SENTENCE_A, *pair, display_mode="dark", layer=1, head=2)
    assert (view.view.layer, view.view.head) == (1, 2)
    weights = recording(view.view).attention_map("self", 1, 2).weights
    scores = view.query @ view.key.T * view.scaling
    scores = np.where(np.tri(len(scores)) > 0, scores, -np.inf) if family == "gpt2" else scores
    exponents = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(exponents / exponents.sum(axis=1, keepdims=True), weights, atol=1e-6)
    meta = view.figure(row=3, column=1).layout.meta
    assert meta["score"] == pytest.approx(float(view.query[3] @ view.key[1] * view.scaling), abs=1e-5)
    assert meta["weight"] == pytest.approx(float(weights[3, 1]))
    assert model.config._attn_implementation == implementation
    assert "headlight" not in transformers.AttentionInterface()
    page = neuron_view.show(model, family, tokenizer, SENTENCE_A, html_action="return")
    assert "<html>" in page.data
    with pytest.raises(RecordingError, match="computes its attention in its own code"):
        neuron_view.show(families.longformer(), "bert", tokenizer, SENTENCE_A)
    from headlight.bertviz.neuron_view import show

    assert show is neuron_view.show


def test_grouped_keys_are_repeated_for_each_head() -> None:
    view = neuron_view.show(families.llama(), "llama", families.tokenizer(), SENTENCE_A, layer=1, head=5)
    weights = recording(view.view).attention_map("self", 1, 5).weights
    scores = np.exp(view.query @ view.key.T * view.scaling) * np.tri(6)
    np.testing.assert_allclose(scores / scores.sum(axis=1, keepdims=True), weights, atol=1e-6)


def test_returned_html_is_an_offline_page(attention: Any, tokens: list[str], tmp_path: Path) -> None:
    for call in (head_view, model_view):
        page = call(attention, tokens, html_action="return")
        (tmp_path / "view.html").write_text(page.data, encoding="utf-8")
        assert page.data.startswith("<!doctype html>")
        assert "cdnjs" not in page.data
        assert "srcdoc=" in page._repr_html_()


def test_view_is_displayed_in_a_notebook(attention: Any, tokens: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    views: list[Any] = []
    display = SimpleNamespace(display=views.append)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=object, display=display))
    assert head_view(attention, tokens) is None
    assert [recording(view).kinds for view in views] == [("self",)]


def test_names_keep_their_spelling_on_request(attention: Any) -> None:
    spelled = ["Ġthe", "Ġcat", "Ġsat", "Ġon", "Ġthe", "<s>"]
    assert [token.text for token in recording(head_view(attention, spelled)).source][:2] == ["the", "cat"]
    tokens = recording(head_view(attention, spelled, prettify_tokens=False)).source
    assert [token.text for token in tokens] == spelled
    assert [token.special for token in tokens] == [False] * 5 + [True]


def test_errors_say_what_to_do(attention: Any, tokens: list[str]) -> None:
    with torch.no_grad():
        empty = families.bert()(read(SENTENCE_A), output_attentions=True)[-1]
    for call, says in (
        (lambda: head_view(empty, tokens), r"outputs\[-1\] of BERT is its cross-attention.*outputs\.attentions"),
        (lambda: head_view([None, None], tokens), "attn_implementation='eager'"),
        (lambda: head_view(attention), "attention needs tokens"),
        (lambda: head_view(cross_attention=attention, encoder_tokens=tokens), "cross_attention needs decoder_tokens"),
        (lambda: head_view(), "There is no attention to show"),
        (lambda: head_view(attention, tokens, include_layers=[1], layer=0), "layer must be one of 1, "),
        (lambda: head_view(attention, tokens, heads=[0, 1, 9]), "heads must be a whole number from 0 to 2"),
        (lambda: model_view(attention, tokens, include_heads=[9]), "include_heads must be"),
        (lambda: model_view(attention, tokens, display_mode="pink"), "display_mode must be one of dark, light"),
        (lambda: model_view(attention, tokens, html_action="save"), "html_action must be one of view, return"),
        (lambda: head_view(attention, tokens[1:]), "numbers of source tokens differ"),
    ):
        with pytest.raises(RecordingError, match=says):
            call()
