"""The API endpoints through real requests: small responses, and named errors for invalid input."""

from __future__ import annotations

import asyncio
import gc
import json
from typing import Any

import numpy as np
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

import headlight
from headlight.model.measures.statistics import measure_all
from headlight.model.translate.translator import Translator
from headlight.viz.api import endpoints
from headlight.viz.api.endpoints import ENDPOINTS, ROWS_BY_KIND, make_endpoint_docstring
from headlight.viz.errors import PageError
from headlight.viz.figure_phrases import phrase
from headlight.viz.server.job_results import JobResults
from headlight.viz.service.request_queue import RequestQueue
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from tests.viz.local_translator import local_translator
from tests.viz.serving import GRADIO_WARNS, Server, assert_clean, served

pytestmark = [pytest.mark.filterwarnings(f"ignore:{message}") for message in GRADIO_WARNS]
BEER = "ich mochte ein bier"
SETTINGS_OF_RULE = Settings(model="de-en")
SETTINGS = Settings(model="toy", max_characters=499, max_tokens=61, max_beam=7, max_request_kb=16)


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(SETTINGS)


def test_translate_returns_token_probabilities(server: Server, service: Service) -> None:
    answer = server.call("translate", BEER).values
    truth = local_translator(service).translate(BEER)
    assert answer["text"] == truth.text == "i want a beer ."
    assert answer["model"] == "toy"
    assert [token["text"] for token in answer["tokens"]] == [token.text for token in truth.target_tokens]
    assert [token["probability"] for token in answer["tokens"]] == pytest.approx(
        [token.probability for token in truth.target_tokens], abs=1e-5
    )
    assert answer["score"] == pytest.approx(truth.score, abs=1e-5)
    assert answer["stopped"] == "end"
    assert answer["reliability"] == {"probability": None, "grade": None, "reasons": [], "back": None}
    assert answer["seconds"] > 0
    assert answer["hint"] is None
    assert server.call("translate", BEER).values["cached"] is True
    english = server.call("translate", "where is the station, please?").values
    assert english["hint"].startswith("This looks like English.")
    assert english["cached"] is False


def test_every_parameter_is_documented(server: Server) -> None:
    info = server.client.get("info").json()["named_endpoints"]
    described = 0
    for name in ENDPOINTS:
        for parameter in info[f"/{name}"]["parameters"]:
            words = parameter["python_type"]["description"]
            assert parameter["label"] == parameter["parameter_name"]
            assert words == phrase(f"api_{parameter['parameter_name']}")
            assert f"{parameter['parameter_name']}: {words}" in make_endpoint_docstring(name)
            assert len(words) > 10
            described += 1
        (result,) = info[f"/{name}"]["returns"]
        assert "hint" in result["python_type"]["description"]
    assert described == sum(len(signature.parameters) for signature in ENDPOINTS.values()) > 40


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ((BEER, "toy", 3, 0.5), {"beam_size": 3, "length_penalty": 0.5}),
        ((BEER, "toy", 1, 1.0, "i want a coke ."), {"target": "i want a coke ."}),
        ((BEER, "toy", 1, 1.0, "", "we"), {"prefix": "we"}),
        ((BEER, "toy", 1, 1.0, None, None), {}),
    ],
)
def test_options_have_their_effect(server: Server, service: Service, data: Any, options: dict[str, Any]) -> None:
    answer = server.call("translate", *data).values
    truth = local_translator(service).translate(BEER, **options)
    assert (answer["text"], answer["stopped"]) == (truth.text, truth.stopped)
    assert answer["score"] == pytest.approx(truth.score, abs=1e-5)


CHANGES = [
    {"action": "remove", "kind": "cross", "layer": 0},
    {"action": "temperature", "kind": "encoder", "layer": 1, "head": 2, "amount": 4},
    {"action": "swap", "start": 14, "end": 18, "text": "cola"},
]


def test_interventions_match_python_api(server: Server, service: Service) -> None:
    truth = local_translator(service).translate(BEER, interventions=CHANGES)
    plain = local_translator(service).translate(BEER)
    answer = server.call("translate", *[BEER, *BLANKS[1:]], CHANGES).values
    assert (answer["text"], answer["score"]) == (truth.text, pytest.approx(truth.score, abs=1e-5))
    assert truth.score != pytest.approx(plain.score, abs=1e-3)
    maps = server.call("attention", BEER, "cross", 0, 1, *BLANKS[1:], CHANGES).values
    assert "cola" in "".join(maps["columns"])
    assert np.array(maps["weights"]).sum() == 0
    assert server.call("translate", BEER).values["text"] == plain.text


def test_masked_word_has_zero_weights(server: Server) -> None:
    mask = [{"action": "mask", "start": 0, "end": 3}]
    weights = server.call("attention", BEER, "cross", 0, 1, *BLANKS[1:], mask).values["weights"]
    assert {row[0] for row in weights} == {None}
    assert None not in [weight for row in weights for weight in row[1:]]


def test_masking_every_word_is_an_error(server: Server) -> None:
    def get_hint(mask: list[dict[str, Any]]) -> Any:
        return server.call("translate", *[BEER, *BLANKS[1:]], mask).values["hint"]

    whole = [{"action": "mask", "start": 0, "end": len(BEER)}]
    assert get_hint(whole).startswith("The interventions mask every word")
    assert get_hint([{"action": "mask", "start": 0, "end": 3}]) is None


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("head", [0, 3, "mean", "max"])
def test_attention_matches_model(server: Server, service: Service, kind: Any, head: Any) -> None:
    answer = server.call("attention", BEER, kind, 1, head).values
    truth = local_translator(service).translate(BEER)
    seen = truth.attention_map(kind, 1, head if isinstance(head, int) else None)
    weights = seen.weights if head != "max" else truth.attention.of(kind)[1].max(axis=0)
    assert answer["rows"] == [token.text for token in seen.rows]
    assert answer["columns"] == [token.text for token in seen.columns]
    actual = np.array(answer["weights"], dtype=float)  # null becomes NaN
    assert np.array_equal(np.isnan(actual), ~seen.allowed)
    assert np.allclose(np.nan_to_num(actual), weights, atol=2e-6)
    if head != "max":
        assert np.allclose(np.nan_to_num(actual).sum(axis=1), 1, atol=1e-4)
    assert (answer["kind"], answer["layer"], answer["head"], answer["meaning"]) == (kind, 1, head, ROWS_BY_KIND[kind])
    if isinstance(head, int):
        truths = {name: values[1, head] for name, values in measure_all(truth, kind).items()}
        measures = {name: float("nan") if value is None else value for name, value in answer["measures"].items()}
        assert measures == pytest.approx({name: truths[name] for name in measures}, abs=2e-6, nan_ok=True)
        assert np.isnan([truths[name] for name in truths.keys() - measures.keys()]).all()
    else:
        assert (answer["measures"] is None) == (head == "max")


@pytest.mark.parametrize("rival", ["", "coke"])
def test_effects_endpoint_matches_model(server: Server, service: Service, rival: str) -> None:
    translator = local_translator(service)
    answer = server.call("effects", BEER, "beer", rival, 3).values
    truth = translator.translate(BEER)
    summary = headlight.effects(translator, truth, "beer", rival or None, top=3)
    assert (answer["text"], answer["word"]) == (truth.text, truth.target_tokens[answer["place"]].text)
    for kind, sums in summary.heads.items():
        assert np.array(answer["predicted"][kind]) == pytest.approx(sums, abs=2e-5)
    assert len(answer["measured"]) == 3
    for ours, theirs in zip(answer["measured"], summary.strongest, strict=True):
        assert (ours["kind"], ours["layer"], ours["head"]) == (theirs.kind, theirs.layer, theirs.head)
        assert ours["measured"] == pytest.approx(theirs.measured, abs=1e-4)


def test_missing_word_error_lists_tokens(server: Server) -> None:
    refused = server.call("effects", BEER, "xyzzy")
    assert "is not a token here. The tokens are: i want a beer" in refused.text


def test_scan_endpoint_matches_model(server: Server, service: Service) -> None:
    translator = local_translator(service)
    answer = server.call("scan", BEER).values
    findings = headlight.scan(translator, translator.translate(BEER))
    assert [finding["sentence"] for finding in answer["findings"]] == [finding.sentence() for finding in findings]
    assert len(findings) >= 2


def test_judge_grades_the_translation_of_the_caller(service: Service) -> None:
    """The toy has no rule; de-en's own answer gets the page's grade, and one without the negation is doubted."""
    with served(Service(SETTINGS_OF_RULE)) as server:
        sentence = "Ich habe den Hund gestern nicht gesehen."
        own = server.call("translate", sentence).values
        judged = server.call("judge", sentence, own["text"]).values
        assert (judged["text"], judged["model"]) == (own["text"], "de-en")
        assert judged["reliability"]["probability"] == pytest.approx(own["reliability"]["probability"], abs=0.2)
        assert judged["reliability"]["grade"] in ("right", "check")
        assert judged["log_probability"] == pytest.approx(own["log_probability"], abs=1e-4)
        wrong = server.call("judge", sentence, "I saw the cat tomorrow.").values
        assert wrong["reliability"]["probability"] < judged["reliability"]["probability"] - 0.3
        assert wrong["reliability"]["grade"] == "doubt"
        assert wrong["reliability"]["reasons"]


def test_batch_returns_the_translation_of_each_sentence(server: Server, service: Service) -> None:
    texts = [BEER, "", "x" * 500, 7, "ein cola bitte"]
    for beam in (1, 3):
        answer = server.call("batch", texts, "toy", beam).values
        truths = [local_translator(service).translate(text, beam_size=beam) for text in (BEER, "ein cola bitte")]
        results = answer["translations"]
        assert [result["text"] for result in results] == [truths[0].text, "", "", "", truths[1].text]
        errors = [result["error"] for result in results]
        assert (errors[0], errors[4]) == (None, None)
        for error, says in zip(errors[1:4], ("Type a sentence", "the limit is 499", "must be text"), strict=True):
            assert says in error
        scores = [None, None] if beam == 1 else [pytest.approx(truth.score, abs=1e-4) for truth in truths]
        assert [results[0]["score"], results[4]["score"]] == scores
    assert server.call("batch", []).values == {"model": "toy", "translations": []}


def test_direct_call_returns_the_result_after_the_queue(server: Server, service: Service) -> None:
    for way, name, data in (
        ("run", "translate", [BEER]),
        ("api", "translate", [BEER]),
        ("run", "attention", [BEER, "encoder"]),
        ("run", "batch", [[BEER]]),
    ):
        reply = server.client.post(f"{way}/{name}", json={"data": data})
        values = reply.json()
        assert reply.status_code == 200
        assert set(values) == {"data", "is_generating", "duration"}
        (result,) = values["data"]
        expected = server.call(name, *data).values
        assert {**result, "cached": None} == {**expected, "cached": None}
    service.request_queue.closed = True
    try:
        reply = server.client.post("run/translate", json={"data": ["ein bier"]})
        assert (reply.status_code, reply.json()["word"]) == (503, "leaving")
    finally:
        service.request_queue.closed = False


def test_translation_is_streamed_while_it_is_written(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """By HTTP and by `gradio_client`: partial texts grow to the result, which comes last and alone to `predict`."""
    monkeypatch.setattr(endpoints, "PARTIAL_INTERVAL_SECONDS", 0.0)
    sentences = ["ich mochte ein cola", "der mann mochte ein bier"]
    event = server.client.post("call/translate", json={"data": [sentences[0]]}).json()["event_id"]
    lines = server.client.get(f"call/translate/{event}").text.splitlines()
    kinds = [line.partition(": ")[2] for line in lines if line.startswith("event: ")]
    assert kinds[-1] == "complete"
    assert set(kinds[:-1]) <= {"generating"}
    client = Client(server.url, verbose=False)
    job = client.submit(sentences[1], api_name="/translate")
    result = job.result()
    outputs = job.outputs()
    partials = [output for output in outputs if output["partial"]]
    assert len(partials) > 2
    assert all(set(output) == {"text", "partial"} for output in partials)
    lengths = [len(output["text"]) for output in partials]
    assert lengths == sorted(lengths)
    assert all(result["text"].startswith(output["text"].strip()) for output in partials)
    assert (outputs[-1], result["partial"]) == (result, False)
    assert client.predict(sentences[1], api_name="/translate")["text"] == result["text"]
    client.close()


def test_partial_results_reach_a_reader_who_waits() -> None:
    async def read() -> list[bytes | None]:
        results = JobResults()
        results.register("job")
        results.put_partial("job", b"one")
        results.put_partial("job", b"two")  # replaces the first
        received = [await results.wait("job", 60), results.take_partial("job"), results.take_partial("job")]
        results.put("job", b"end")
        return [*received, await results.wait("job", 60), results.take_partial("job")]

    assert asyncio.run(read()) == [None, b"two", None, b"end", None]


def test_responses_are_small(server: Server) -> None:
    assert len(server.call("translate", BEER).text) < 1000
    assert len(server.call("attention", BEER).text) < 1500


BLANKS = ["a", "", 1, 1.0, "", "", "", ""]  # whatever comes before the interventions
OFF = {"action": "remove", "kind": "cross", "layer": 0, "head": 1}
WRONG: list[tuple[str, list[Any], str]] = [
    ("translate", [None], "text must be text, but null was given"),
    ("translate", [7], "text must be text, but 7 was given"),
    ("translate", [True], "text must be text, but true was given"),
    ("translate", [["a"]], "text must be text, but a list was given"),
    ("translate", [{"a": 1}], "text must be text, but an object was given"),
    ("translate", [""], "Type a sentence first"),
    ("translate", ["a\ud800"], "half a character at position 2"),
    ("translate", ["x" * 500], "500 characters; the limit is 499"),
    ("translate", ["a b c " * 21], "tokens, but at most 61"),
    ("translate", ["a", 5], "model must be text"),
    ("translate", ["a", "none"], 'no model "none" here. Choose one of: de-en, '),
    ("translate", ["a", "sentiment"], "no model"),
    ("translate", ["a", "../toy"], "no model"),
    ("translate", ["a", "", "4"], "beam_size must be a whole number from 1 to 7"),
    ("translate", ["a", "", 0], "beam_size must be a whole number from 1 to 7"),
    ("translate", ["a", "", 8], "beam_size must be a whole number from 1 to 7"),
    ("translate", ["a", "", True], "beam_size must be a whole number"),
    ("translate", ["a", "", None], "beam_size must be a whole number"),
    ("translate", ["a", "", 1e300], "beam_size must be a whole number"),
    ("translate", ["a", "", 1, "x"], "length_penalty must be a number from 0 to 10,"),
    ("translate", ["a", "", 1, 1, 5], "target must be text or a list of token ids"),
    ("translate", ["a", "", 1, 1, "b", "c"], "cannot both be given"),
    ("translate", [*BLANKS, "x"], 'interventions must be [{…}], but "x" was given'),
    ("translate", [*BLANKS, {"action": "remove"}], "interventions must be [{…}], but an object was given"),
    ("translate", [*BLANKS, ["x"]], 'interventions must be [{…}], but "x" was given'),
    ("translate", [*BLANKS, [{"action": "explode"}]], "action must be one of remove, uniform, scale, temperature"),
    ("translate", [*BLANKS, [{"action": "remove"}]], "kind is missing"),
    ("translate", [*BLANKS, [OFF | {"layer": 2}]], "layer must be a whole number from 0 to 1, but 2 was given"),
    ("translate", [*BLANKS, [OFF | {"head": 4}]], "head must be a whole number from 0 to 3, but 4 was given"),
    ("translate", [*BLANKS, [{}] * 2001], "There are 2001 changes, but at most 2000"),
    ("translate", [*BLANKS, [{"action": "borrow", "kind": "cross", "layer": 0, "text": "b"}] * 33], "at most 32"),
    ("translate", [*BLANKS, [{"action": "swap", "start": 0, "end": 1, "text": "x" * 250}] * 2], "the limit is 499"),
    ("translate", [*BLANKS, [{"action": "erase", "start": 0, "end": 1}]], "No word of the sentence is left"),
    ("translate", [*BLANKS, [{"action": "mask", "start": 0, "end": 9}]], "end must be a whole number from 1 to 1"),
    ("translate", [*BLANKS, [{"action": "swap", "start": 0, "end": 1, "text": "x" * 500}]], "the limit is 499"),
    ("translate", [*BLANKS, [{"action": "swap", "start": 0, "end": 1, "text": "a b c " * 21}]], "at most 61"),
    ("translate", [*BLANKS, [{"action": "borrow", "kind": "cross", "layer": 0, "text": "a b c " * 21}]], "at most 61"),
    ("translate", [*BLANKS, [{"action": "borrow", "kind": "cross", "layer": 0, "text": " "}]], "Type a sentence"),
    ("judge", ["a"], "target is missing"),
    ("judge", ["a", ""], "target is missing"),
    ("judge", ["a", 5], "target must be text or a list of token ids"),
    ("judge", ["", "a"], "Type a sentence first"),
    ("judge", ["a", "x" * 500], "500 characters; the limit is 499"),
    ("judge", ["a", "b", "none"], 'no model "none" here'),
    ("batch", ["a"], 'texts must be ["…"], but "a" was given'),
    ("batch", [["a"] * 65], "At most 64 values are accepted (texts), but 65 were given"),
    ("batch", [["x" * 400] * 20], "8000 characters; the limit is 7984"),
    ("batch", [["a"], "none"], 'no model "none" here'),
    ("batch", [["a"], "", 8], "beam_size must be a whole number from 1 to 7"),
    ("effects", ["a"], "word"),
    ("effects", ["a", "i", "", 0], "top must be a whole number from 1 to 50"),
    ("effects", ["a", "i", 5], "rival must be text"),
    ("attention", ["a", "sideways"], "kind must be one of encoder, decoder, cross"),
    ("attention", ["a", "cross", 2], "layer must be a whole number from 0 to 1"),
    ("attention", ["a", "cross", "mean"], "layer must be a whole number from 0 to 1"),
    ("attention", ["a", "cross", 0, 4], "head must be one of 0 to 3, mean, max, but 4 was given"),
    ("attention", ["a", "cross", 0, "most"], 'head must be one of 0 to 3, mean, max, but "most" was given'),
    ("attention", ["a", "cross", -1], "layer must be a whole number"),
]


@pytest.mark.parametrize(("name", "data", "message"), WRONG, ids=[f"{number}" for number in range(len(WRONG))])
def test_invalid_argument_is_named_without_running_model(
    server: Server, monkeypatch: pytest.MonkeyPatch, name: str, data: list[Any], message: str
) -> None:
    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("the model ran")

    for method in ("translate", "stream", "hypotheses_of_lines"):
        monkeypatch.setattr(Translator, method, never)
    answer = server.call(name, *data)
    assert message in answer.error
    assert_clean(answer.text)


@pytest.mark.parametrize(
    ("path", "body", "status", "word"),
    [
        ("call/translate", {}, 422, "not_data"),
        ("call/translate", [], 422, "not_data"),
        ("call/translate", {"data": {"text": "a"}}, 422, "not_data"),
        ("call/translate", {"data": "a"}, 422, "not_data"),
        ("call/translate", {"data": []}, 422, "missing"),
        ("call/translate/", {"data": ["a"] * 11}, 422, "too_many_values"),
        ("call/attention", {"data": ["a"] * 14}, 422, "too_many_values"),
        ("call/translate", {"data": ["a"], "session_hash": 5}, 422, "wrong_field"),
        ("call/translate", {"data": [{"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}]}, 422, "no_files"),
        ("call/nothing", {"data": ["a"]}, 404, "unknown_endpoint"),
        ("call/inside", {"data": ["a", "b"]}, 404, "unknown_endpoint"),
        ("call/v2/translate", {"text": "a", "beams": 4}, 422, "unknown_name"),
        ("call/v2/translate", {"model": "toy"}, 422, "missing"),
        ("call/v2/translate", ["a"], 422, "not_names"),
        ("call/v2/nothing", {"text": "a"}, 404, "unknown_endpoint"),
        ("run/translate", {"data": []}, 422, "missing"),
        ("run/translate", {"data": ["a"] * 11}, 422, "too_many_values"),
        ("run/translate", {"data": [""]}, 422, "blank_text"),
        ("api/translate", {"data": ["a", "none"]}, 422, "unknown_model"),
        ("run/inside", {"data": ["a", "b"]}, 404, "unknown_endpoint"),
        ("run/nothing", {"data": ["a"]}, 404, "unknown_endpoint"),
        ("run/at_once", {"data": []}, 422, "too_few_values"),
        ("queue/join", {"data": ["a"], "fn_index": 999, "session_hash": "s"}, 404, "unknown_endpoint"),
        ("queue/join", {"data": ["a"], "fn_index": 0, "session_hash": "s"}, 422, "too_few_values"),
        ("queue/join", {"data": [], "fn_index": 2, "session_hash": "s"}, 422, "missing"),
        ("queue/join", {"data": ["a"], "fn_index": "x", "session_hash": "s"}, 422, "wrong_field"),
        ("cancel", {}, 422, "wrong_field"),
    ],
)
def test_request_with_wrong_structure_is_rejected(server: Server, path: str, body: Any, status: int, word: str) -> None:
    answer = server.post(path, body)
    assert (answer.status, answer.values["word"]) == (status, word)
    assert answer.values["detail"] == answer.error
    assert_clean(answer.text)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b'{"data": [NaN]}',
        b'{"data": [Infinity]}',
        b"\xff\xfe",
        b'{"data": [' + b"9" * 5000 + b"]}",
        b"[" * 9999,
    ],
    ids=["empty", "cut", "nan", "infinity", "bytes", "digits", "brackets"],
)
def test_invalid_json_is_rejected(server: Server, content: bytes) -> None:
    answer = server.post("call/translate", content=content)
    assert (answer.status, answer.values["word"]) == (400, "not_json")
    assert_clean(answer.text)


def test_deep_nesting_is_rejected(server: Server) -> None:
    assert (
        server.post("call/translate", content=b'{"data": ' + b"[" * 99 + b"]" * 99 + b"}").values["word"] == "too_deep"
    )


def test_missing_content_type_is_rejected(server: Server) -> None:
    answer = server.post("call/translate", {"data": ["a"]}, headers={"content-type": "text/plain"})
    assert answer.status in (200, 422)
    assert_clean(answer.text)


def test_too_large_request_is_rejected_with_or_without_length(server: Server) -> None:
    body = json.dumps({"data": ["x" * 10_000_000]}).encode()
    response = server.post("call/translate", content=body)
    pieces = server.post("call/translate", content=(b" " * 4096 for _ in range(64)))
    for answer in (response, pieces):
        assert (answer.status, answer.values["word"]) == (413, "too_large")
        assert "16 kB" in answer.error


def test_missing_result_is_reported(server: Server) -> None:
    text = server.client.get("call/translate/nothing").text
    assert "Send the request again" in text
    assert_clean(text)


def test_immediate_call_still_works(server: Server) -> None:
    reply = server.client.post("run/at_once", json={"data": ["a"]})
    assert (reply.status_code, reply.json()["data"]) == (200, ["a"])


def test_named_arguments_work(server: Server) -> None:
    event = server.client.post("call/v2/translate", json={"text": BEER, "beam_size": 2}).json()["event_id"]
    assert "i want a beer ." in server.client.get(f"call/v2/translate/{event}").text


def test_internal_error_hides_details(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("/home/secret/model.py")

    monkeypatch.setattr(Translator, "stream", fail)
    answer = server.call("translate", "ein cola bitte und")
    assert "our side" in answer.error
    assert_clean(answer.text)
    assert "/home/secret" in caplog.text


def test_python_client_gets_results_and_errors(server: Server) -> None:
    client = Client(server.url, verbose=False)
    assert client.predict(BEER, api_name="/translate")["text"] == "i want a beer ."
    assert client.predict(text=BEER, kind="encoder", api_name="/attention")["kind"] == "encoder"
    with pytest.raises(AppError, match="Type a sentence first"):
        client.predict("", api_name="/translate")
    with pytest.raises(AppError, match="from 1 to 7, but 99 was given"):
        client.predict("a", beam_size=99, api_name="/translate")
    client.close()


def test_api_documentation_has_types_defaults_and_descriptions(server: Server) -> None:
    about = server.client.get("info").json()["named_endpoints"]
    assert (
        set(about)
        == {"/translate", "/attention", "/effects", "/scan", "/judge", "/batch"}
        == {f"/{name}" for name in ENDPOINTS}
    )
    kinds = {
        parameter["parameter_name"]: (parameter["python_type"]["type"], parameter["parameter_default"])
        for parameter in about["/translate"]["parameters"]
    }
    assert kinds == {
        "text": ("str", None),
        "model": ("str", ""),
        "beam_size": ("int", 1),
        "length_penalty": ("float", 1.0),
        "target": ("str", ""),
        "prefix": ("str", ""),
        "source_language": ("str", ""),
        "target_language": ("str", ""),
        "interventions": ("list[dict(str, Any)]", []),
        "back_weight": ("float", 0.0),
    }
    head = next(each for each in about["/attention"]["parameters"] if each["parameter_name"] == "head")
    assert (head["python_type"]["type"], head["parameter_default"]) == ("int | str", "mean")
    assert "the weights of one attention head" in about["/attention"]["description"]


def test_error_of_an_abandoned_stream_is_not_logged() -> None:
    """Gradio may stop reading a stream without closing it; asyncio logs errors that nobody retrieves."""
    logged: list[str] = []

    def fail(_values: Any, on_partial: Any) -> Any:
        on_partial("one")
        raise PageError("text", "empty")

    async def abandon() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: logged.append(context["message"]))
        call = endpoints.wrap_stream("translate", fail, ENDPOINTS["translate"], RequestQueue(1, 1))
        stream = call(BEER)
        assert await anext(stream) == "one"
        (task,) = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.wait({task})
        del task, stream
        gc.collect()

    asyncio.run(abandon())
    assert not logged
