"""The first answer: a real translation that the page shows at once, stored in `assets/first.json`.

`python -m headlight.viz.answers.first` makes it anew. It carries a key. When the weights, the default request or the
form of answers have changed since, the key differs, and the stored answer is not used. With `--stale` only such an
answer is made anew.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

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
from headlight.model.translate.reliability import FILE as RELIABILITY
from headlight.model.translate.reliability import PlainRule
from headlight.viz.answers.examples import EXAMPLES
from headlight.viz.answers.model_values import answer_of, cross_heads_of, default_request, model_of
from headlight.viz.answers.payload import translation_json
from headlight.viz.answers.service import Service
from headlight.viz.settings import read_settings

FIRST = Path(__file__).resolve().parents[2] / "assets" / "first.json"


def first_answer(service: Service) -> str:
    """The stored answer, or a new one if its key differs."""
    if FIRST.exists():
        kept = json.loads(FIRST.read_text(encoding="utf-8"))
        if kept.get("key") == key_of(service):
            answer: str = kept["answer"]
            return answer
    return make_first(service)


def make_first(service: Service) -> str:
    """The first example of the default model, translated as the page would."""
    translation = service.translate(service.check(first_request(service)))
    return answer_of(service, translation, service.read_back(translation), cached=True)


def first_request(service: Service) -> dict[str, Any]:
    """The first request of the page."""
    example = next((each for each in EXAMPLES if each.model == service.default), EXAMPLES[0])
    return default_request(service) | {"text": example.text}


def key_of(service: Service) -> str:
    """A digest of the model's weights, of the first request, and of the form that code gives a translation.

    The last is tried out on a small made-up translation, so that a new field, or an old one written otherwise, needs
    no version number that must be raised by hand.
    """
    revision = next((card.revision for card in service.models() if card.default), "")
    sample = _made_up(service.default)
    best = {"layer": 0, "head": 3, "shift": 1}
    form = translation_json(sample, {"best_head": best}, cached=True, hint=None, way_back="")
    weights = [revision, service.partner_revision(service.default)]
    heads = cross_heads_of(service, sample)
    known = [heads.aligning, sorted(heads.losses.items())]
    decides = [*weights, _rule_of(service), first_request(service), model_of(service, sample), known, form]
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:16]


def _rule_of(service: Service) -> str:
    """The default model's reliability rule, which can change without the weights."""
    card = service.catalogue.card(service.default, "transformer")
    path = service.catalogue.folder(card) / RELIABILITY
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _made_up(model: str) -> Translation:
    """A translation with every part that an answer can have. Its weights are exact, so that all processors agree."""
    other = Alternative("b", 5, 0.25)
    source = (
        Token("Aa", 3, 0, 2, word=0),
        Token("é", 4, 2, 3, word=0, piece=0, pieces=2),
        Token("é", 5, 2, 3, word=0, piece=1, pieces=2),
        Token("</s>", 2, 3, 3, special=True),
    )
    target = (
        Token("A", 3, 0, 1, word=0, probability=0.5, alternatives=(other,)),
        Token(" b", 5, 1, 3, word=1, probability=0.25, alternatives=(other,)),
        Token("<", 6, 3, 4, word=1, probability=0.125),
        Token("</s>", 2, 4, 4, special=True, probability=0.5),
    )
    alike, same = np.full((4, 4), 0.25, dtype=np.float32), np.eye(4, dtype=np.float32)
    before, first = np.eye(4, k=-1, dtype=np.float32), np.eye(1, 4, dtype=np.float32).repeat(4, axis=0)
    before[0, 0] = 1.0
    maps = np.stack([alike, same, before, first])[None]  # [layer, head, query, key]
    seen = np.stack([same, before, first, (same + first) / 2])[None]
    return Translation(
        request=TranslationRequest(text="Aaé", model=model),
        source_text="Aaé",
        text="A b<",
        source_tokens=source,
        target_tokens=target,
        start_token=Token("<s>", 1, 0, 0, special=True),
        attention=Attention(maps, seen, maps),
        positions={},
        score=-0.5,
        log_probability=-2.0,
        stopped="end",
        hypotheses=(Hypothesis("A b<", (3, 5, 6, 2), -0.5, -2.0),),
        rule=PlainRule(),
        tree=BeamTree((BeamNode(-1, 0, 3, "A", -0.5, -0.5, "kept"),)),
    )


def main(arguments: Sequence[str]) -> None:
    """Write the first answer."""
    service = Service(read_settings())
    key = key_of(service)
    if "--stale" in arguments and FIRST.exists() and json.loads(FIRST.read_text(encoding="utf-8")).get("key") == key:
        sys.stdout.write(f"{FIRST}: current\n")
        return
    kept = {"key": key, "answer": make_first(service)}
    FIRST.write_text(json.dumps(kept, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.stdout.write(f"{FIRST}: {FIRST.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main(sys.argv[1:])
