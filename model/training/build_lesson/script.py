"""The finished model of the lesson as a single PyTorch script."""

from __future__ import annotations

from headlight.model.training.build_lesson import lines
from headlight.model.training.build_lesson.model import MAX_LENGTH, NORM_EPSILON, WAVELENGTH_BASE
from headlight.model.training.build_lesson.sentences import END, MAIN, PAIRS, SOURCE_WORDS, START, TARGET_WORDS

SCRIPT = """# The tiny translator of "Build it yourself": 432 weights in the Transformer of the paper.
# python headlight_build.py {main}

import math
import sys

import torch

SOURCE_WORDS = {source_words}
TARGET_WORDS = {target_words}
PAIRS = {pairs}
W = {{
{weights}
}}


def positions(length):
    place = torch.arange(length)[:, None]
    angles = place / {base} ** (torch.arange(0, 4, 2) / 4)
    table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    return (table * 10).round() / 10


def norm(x):
    m = x.mean(-1, keepdim=True)
    v = x.var(-1, keepdim=True, unbiased=False)
    return (x - m) / (v + {epsilon}).sqrt()


def attention(q, k, v, late=None):
    s = q @ k.transpose(-2, -1) / math.sqrt(2)
    if late is not None:
        s = s.masked_fill(late, -math.inf)
    return s.softmax(-1) @ v


def two_heads(name, x, memory, late=None):
    q, k, v = x @ W[name + ".query"], memory @ W[name + ".key"], memory @ W[name + ".value"]
    first, second = slice(0, 2), slice(2, 4)
    a, b = (attention(q[:, head], k[:, head], v[:, head], late) for head in (first, second))
    return torch.cat([a, b], -1) @ W[name + ".joined"]


def network(name, x):
    h = (x @ W[name + ".inner"]).relu()
    return norm(x + h @ W[name + ".outer"])


def encoder(ids):
    x = W["source_table"][ids] + positions(len(ids))
    x = norm(x + two_heads("encoder", x, x))
    return network("encoder", x)


def decoder(ids, memory):
    y = W["target_table"][ids] + positions(len(ids))
    late = torch.ones(len(ids), len(ids)).triu(1).bool()
    y = norm(y + two_heads("decoder", y, y, late))
    y = norm(y + two_heads("cross", y, memory))
    return network("decoder", y) @ W["output"]


def words_in(text):
    words = []
    while text:
        word = next((each for each in sorted(SOURCE_WORDS, key=len, reverse=True) if text.startswith(each)), None)
        if word is None:
            sys.exit(f"{{text}} begins with no known word. Known words: {{' '.join(SOURCE_WORDS)}}")
        words.append(word)
        text = text[len(word) :]
    return words


def translate(text):
    memory = encoder(torch.tensor([SOURCE_WORDS.index(word) for word in words_in(text)]))
    read = [TARGET_WORDS.index("{start}")]
    while len(read) <= {max_length}:
        p = decoder(torch.tensor(read), memory).softmax(-1)
        read.append(int(p[-1].argmax()))
        if TARGET_WORDS[read[-1]] == "{end}":
            break
    return " ".join(TARGET_WORDS[index] for index in read[1:] if TARGET_WORDS[index] != "{end}")


if __name__ == "__main__":
    for text in sys.argv[1:] or ["{main}"]:
        print(text, "->", translate(text))
    right = sum(translate(source) == target for source, target in PAIRS.items())
    print(right, "of", len(PAIRS), "sentences right")
"""


def script_text() -> str:
    """Return the script with the weights, the words and all sentences."""
    weights = [
        f'    "{name}": torch.tensor({[[round(number, 1) for number in row] for row in matrix.tolist()]}),'
        for name, matrix in lines.matrices().items()
    ]
    return SCRIPT.format(
        main=MAIN,
        source_words=list(SOURCE_WORDS),
        target_words=list(TARGET_WORDS),
        pairs={pair.text: " ".join(pair.target) for pair in PAIRS},
        weights="\n".join(weights),
        base=WAVELENGTH_BASE,
        epsilon=NORM_EPSILON,
        start=START,
        end=END,
        max_length=MAX_LENGTH // 2,
    )
