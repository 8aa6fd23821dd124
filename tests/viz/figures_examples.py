"""Synthetic records for figures: sentences of any length with any tokens."""

from __future__ import annotations

import numpy as np

from headlight.model.records import (
    Alternative,
    Attention,
    AttentionMap,
    BeamNode,
    BeamTree,
    Kind,
    Token,
    Translation,
    TranslationRequest,
)

HOSTILE = (
    "<b>bold</b>",
    '<a href="javascript:alert(1)">x</a>',
    "<br>",
    "<sup>2</sup>",
    "&lt;i&gt;&amp;&#36;",
    "$\\frac{1}{2}$",
    "%{meta.kind}",
    "${alert(1)}",
    "{{this}}",
    "{row}",
    "<extra>gone</extra>",
    "</script><img src=x onerror=alert(1)>",
    "C:\\users",
    "`",
    "tab\there",
    "line\nend",
    "\u202eturned",
    "nul\x00",
)
SCRIPTS = (
    *("翻译", "程序", "。", "たべる"),
    *("مرحبا", "שלום"),
    *("👨\u200d🚀", "🇩🇪"),
    *("der", "der", "Donaudampfschifffahrtsgesellschaft", "ÄÖÜ"),
)
LAYERS, HEADS = 3, 5


def make_tokens(texts: tuple[str, ...], *, end: bool = True, probability: float | None = None) -> tuple[Token, ...]:
    """Tokens of these texts: each is a word, separated by spaces."""
    tokens, place = [], 0
    for number, text in enumerate(texts):
        others = (Alternative(f" {text}", number, 0.5), Alternative(" other", 900, 0.25), Alternative("ing", 901, 0.1))
        alternatives = others if probability is not None else ()
        tokens.append(
            Token(
                text, number, place, place + len(text), word=number, probability=probability, alternatives=alternatives
            )
        )
        place += len(text) + 1
    if end:
        tokens.append(Token("</s>", 2, place, place, special=True, probability=probability))
    return tuple(tokens)


def words_of_length(count: int) -> tuple[str, ...]:
    """`count` different words."""
    return tuple(f"word{number}" for number in range(count))


def make_weights(shape: tuple[int, ...], *, causal: bool = False, seed: int = 7) -> np.ndarray:
    """Random rows that sum to one, some of them sharp."""
    scores = np.random.default_rng(seed).normal(size=shape) * 3
    if causal:
        scores = np.where(np.tril(np.ones(shape[-2:], dtype=bool)), scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (powers / powers.sum(axis=-1, keepdims=True)).astype(np.float32)


def make_translation(source: tuple[str, ...], target: tuple[str, ...], tree: BeamTree | None = None) -> Translation:
    """A translation of these tokens with random attention."""
    rows, columns = len(target) + 1, len(source) + 1
    return Translation(
        request=TranslationRequest(text=" ".join(source)),
        source_text=" ".join(source),
        text=" ".join(target),
        source_tokens=make_tokens(source),
        target_tokens=make_tokens(target, probability=0.5),
        start_token=Token("<s>", 1, 0, 0, special=True),
        attention=Attention(
            encoder=make_weights((LAYERS, HEADS, columns, columns), seed=1),
            decoder=make_weights((LAYERS, HEADS, rows, rows), causal=True, seed=2),
            cross=make_weights((LAYERS, HEADS, rows, columns), seed=3),
        ),
        positions={},
        score=-0.5,
        log_probability=-2.5,
        stopped="end",
        tree=tree or BeamTree(),
    )


def make_map(
    kind: Kind = "cross",
    *,
    rows: tuple[str, ...] = ("a", "b"),
    columns: tuple[str, ...] = ("c", "d", "e", "f"),
    layer: int = 1,
    head: int | None = 3,
) -> AttentionMap:
    """One map of these tokens, with the special tokens of its kind."""
    return make_translation(columns, rows).attention_map(kind, layer, head)


def make_tree(steps: int = 3, texts: tuple[str, ...] = (" a", " b", "c")) -> BeamTree:
    """A search tree of beam size two: each step keeps two nodes and drops one; the last step finishes both."""
    nodes: list[BeamNode] = []
    kept_nodes = [-1]
    for step in range(steps):
        first = len(nodes)
        for rank, text in enumerate(texts):
            outcome = "dropped" if rank == 2 else "finished" if step == steps - 1 else "kept"
            parent = kept_nodes[rank % len(kept_nodes)]
            chance = -0.5 * (step + 1) - rank
            nodes.append(BeamNode(parent, step, rank, text, chance, chance / (step + 1), outcome))  # type: ignore[arg-type]
        kept_nodes = [first, first + 1]
    return BeamTree(tuple(nodes))
