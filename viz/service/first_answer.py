"""The stored first answer: a real translation that the page shows at once, in `assets/first.json`.

`python -m headlight.viz.service.first_answer` updates it; with `--stale`, only if its key is out of date. The key
is a digest of everything that determines the answer (`compute_first_answer_key`). An answer with a different key is
ignored. If only the duration of the translation differs, the stored answer is kept, so that the file does not change.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headlight.model.files import write_file
from headlight.model.records import (
    Alternative,
    Attention,
    BeamNode,
    BeamTree,
    Hypothesis,
    Token,
    Translation,
    TranslationRequest,
)
from headlight.model.translate.reliability import RELIABILITY_FILE as RELIABILITY
from headlight.model.translate.reliability import UnfittedRule
from headlight.viz.service.examples import EXAMPLES
from headlight.viz.service.model_json import answer_json, get_measured_heads, make_default_request, model_json
from headlight.viz.service.payload import translation_json
from headlight.viz.service.service import Service
from headlight.viz.settings import read_settings

FIRST_ANSWER_FILE = Path(__file__).resolve().parents[2] / "assets" / "first.json"


def load_first_answer(service: Service) -> str:
    """Load the stored answer, or compute it if it is missing or its key differs."""
    if FIRST_ANSWER_FILE.exists():
        stored = json.loads(FIRST_ANSWER_FILE.read_text(encoding="utf-8"))
        if stored.get("key") == compute_first_answer_key(service):
            answer: str = stored["answer"]
            return answer
    return make_first_answer(service)


def make_first_answer(service: Service) -> str:
    """Translate the first request and its back-translation; return the answer as JSON."""
    translation = service.translate(service.check(make_first_request(service)))
    return answer_json(service, translation, service.read_back(translation), cached=True)


def make_first_request(service: Service) -> dict[str, Any]:
    """Return the default request with the first example of the default model, or of all models if it has none."""
    example = next((candidate for candidate in EXAMPLES if candidate.model == service.default), EXAMPLES[0])
    return make_default_request(service) | {"text": example.text}


def compute_first_answer_key(service: Service) -> str:
    """Return a digest of everything that determines the answer.

    It covers the revisions of the model and its reverse model, the reliability rule, the first request, the measured
    heads, and the JSON format of answers. The format is taken from a small synthetic translation, so that a new or
    changed field changes the key without a version number.
    """
    revision = next((card.revision for card in service.models() if card.default), "")
    sample = _sample_translation(service.default)
    model = model_json(service, sample)
    model["best_head"] = {"layer": 0, "head": 3, "shift": 1}  # a fixed head, because only the format matters here
    answer_format = translation_json(sample, model, cached=True, hint=None, way_back="")
    weights = [revision, service.reverse_revision(service.default)]
    heads = get_measured_heads(service, sample)
    head_values = [heads.aligning, sorted(heads.losses.items())]
    key_parts = [*weights, _read_reliability_rule(service), make_first_request(service), head_values, answer_format]
    return hashlib.sha256(json.dumps(key_parts, sort_keys=True).encode()).hexdigest()[:16]


def _read_reliability_rule(service: Service) -> str:
    """Return the text of the default model's reliability rule, which can change without the weights."""
    card = service.catalogue.card(service.default, "transformer")
    path = service.catalogue.folder(card) / RELIABILITY
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _sample_translation(model: str) -> Translation:
    """Return a translation with all optional parts.

    Its numbers are exact binary fractions, so the digest is the same on every processor.
    """
    alternative = Alternative("b", 5, 0.25)
    source = (
        Token("Aa", 3, 0, 2, word=0),
        Token("é", 4, 2, 3, word=0, piece=0, pieces=2),
        Token("é", 5, 2, 3, word=0, piece=1, pieces=2),
        Token("</s>", 2, 3, 3, special=True),
    )
    target = (
        Token("A", 3, 0, 1, word=0, probability=0.5, alternatives=(alternative,)),
        Token(" b", 5, 1, 3, word=1, probability=0.25, alternatives=(alternative,)),
        Token("<", 6, 3, 4, word=1, probability=0.125),
        Token("</s>", 2, 4, 4, special=True, probability=0.5),
    )
    uniform, diagonal = np.full((4, 4), 0.25, dtype=np.float32), np.eye(4, dtype=np.float32)
    previous, first = np.eye(4, k=-1, dtype=np.float32), np.eye(1, 4, dtype=np.float32).repeat(4, axis=0)
    previous[0, 0] = 1.0
    maps = np.stack([uniform, diagonal, previous, first])[None]  # [layer, head, query, key]
    decoder_maps = np.stack([diagonal, previous, first, (diagonal + first) / 2])[None]
    return Translation(
        request=TranslationRequest(text="Aaé", model=model),
        source_text="Aaé",
        text="A b<",
        source_tokens=source,
        target_tokens=target,
        start_token=Token("<s>", 1, 0, 0, special=True),
        attention=Attention(maps, decoder_maps, maps),
        positions={},
        score=-0.5,
        log_probability=-2.0,
        stopped="end",
        hypotheses=(Hypothesis("A b<", (3, 5, 6, 2), -0.5, -2.0),),
        rule=UnfittedRule(),
        tree=BeamTree((BeamNode(-1, 0, 3, "A", -0.5, -0.5, "kept"),)),
    )


def _without_time(answer: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(answer)
    return values | {"seconds": 0}


def main(arguments: Sequence[str]) -> None:
    """Update the stored first answer."""
    service = Service(read_settings())
    key = compute_first_answer_key(service)
    stored = json.loads(FIRST_ANSWER_FILE.read_text(encoding="utf-8")) if FIRST_ANSWER_FILE.exists() else {}
    if "--stale" in arguments and stored.get("key") == key:
        sys.stdout.write(f"{FIRST_ANSWER_FILE}: current\n")
        return
    answer = make_first_answer(service)
    if "answer" in stored and _without_time(stored["answer"]) == _without_time(answer):
        answer = stored["answer"]
    updated = {"key": key, "answer": answer}
    write_file(FIRST_ANSWER_FILE, json.dumps(updated, ensure_ascii=False) + "\n")
    sys.stdout.write(f"{FIRST_ANSWER_FILE}: {FIRST_ANSWER_FILE.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main(sys.argv[1:])
