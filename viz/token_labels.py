"""Token labels: literal text, with invisible characters made visible and markup escaped.

`TokenLabel.text` is plain text, for `textContent`. Plotly interprets tags, entities, `%{…}` and TeX in every string, so
`TokenLabel.plotly` is escaped for it. Invisible characters get a symbol: ␣ for a space, ⇥ for a tab, ↵ for a line
break, the code point for other control characters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from headlight.model.records import AttentionMap, Token

MAX_COLUMNS = 16  # width of a label; Chinese characters and emoji take two columns
MAX_ACCENTS = 4  # accents shown per letter; `full` keeps all
CONTINUATION_MARK = "·"
EMPTY = "∅"
VISIBLE_SIGNS = {" ": "␣", "\u00a0": "␣", "\u3000": "␣", "\t": "⇥", "\n": "↵", "\u2028": "↵", "\u2029": "↵"}
JOINING_CHARACTERS = "\u200c\u200d\ufe0e\ufe0f"  # joiners and variation selectors change adjacent characters
TAGS = range(0xE0020, 0xE0080)  # letters in a regional flag emoji
ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;", "%": "&#37;"})
ISOLATE, RELEASE = "\u2068", "\u2069"
# Square scripts: upright in vertical labels, and without a dot between the pieces of a word.
EAST_ASIAN = (
    (0x1100, 0x11FF),  # Hangul letters
    (0x2E80, 0x303F),
    (0x3041, 0x33FF),  # Kana
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),  # Han
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),  # Hangul
    (0xF900, 0xFAFF),
    (0xFE30, 0xFE4F),
    (0xFF00, 0xFFEF),
    (0x20000, 0x3FFFF),
)


@dataclass(frozen=True, slots=True)
class TokenLabel:
    """The label of a token."""

    text: str  # plain, visible, short
    full: str  # not truncated
    special: bool  # start and end tokens
    continues_word: bool  # follows the previous token without a space
    read: str = ""  # prefix of a decoder row: the token just read and an arrow, such as "saw → "

    @property
    def row_name(self) -> str:
        """The full name of a row: the token just read and the token being written."""
        return self.read + self.full

    @property
    def plotly_row_name(self) -> str:
        """The full name of a row escaped for Plotly, for tooltips."""
        return plotly_text(self.read) + self.plotly_full

    @property
    def plotly(self) -> str:
        """The text escaped for Plotly."""
        return plotly_text(self.text)

    @property
    def plotly_full(self) -> str:
        """The full text escaped for Plotly, for tooltips."""
        return plotly_text(self.full)

    @property
    def is_vertical(self) -> bool:
        """Whether the script stays upright in vertical labels."""
        return any(is_east_asian(character) for character in self.text)


def token_labels(tokens: Sequence[Token]) -> tuple[TokenLabel, ...]:
    """Return one label per token. The pieces of a split character are numbered: 翻 2/3."""
    results = []
    previous: Token | None = None
    for token in tokens:
        is_adjacent = previous is not None and _is_adjacent(previous, token)
        if token.piece:
            text = f"{make_visible(token.text)} {token.piece + 1}/{token.pieces}"
            results.append(TokenLabel(text, text, token.special, continues_word=True))
        else:
            dot = CONTINUATION_MARK if is_adjacent and previous is not None and _continues(previous, token) else ""
            text = make_visible(token.text)
            results.append(TokenLabel(dot + truncate(text), dot + text, token.special, is_adjacent))
        previous = token
    return tuple(results)


def row_labels(map: AttentionMap) -> tuple[TokenLabel, ...]:  # noqa: A002 (the field's own word)
    """Labels of the rows; a decoder row also names the token just read, from whose state its query is computed."""
    labels = token_labels(map.rows)
    if map.previous_tokens == map.rows:
        return labels
    previous = token_labels(map.previous_tokens)
    return tuple(replace(label, read=f"{read.text} → ") for label, read in zip(labels, previous, strict=True))


def candidate_label(text: str) -> TokenLabel:
    """Return the label of a candidate token; without a leading space it continues the word."""
    dot = CONTINUATION_MARK if text and _is_letter(text[0]) else ""
    visible = make_visible(text)
    return TokenLabel(dot + truncate(visible), dot + visible, special=False, continues_word=text[:1] != " ")


def make_visible(text: str) -> str:
    """Replace invisible characters with symbols; spaces between words remain."""
    text = text.strip(" ") or text  # tokens may include the preceding space
    if not text:
        return EMPTY
    if text.isspace():
        return "".join(_visible_symbol(character) for character in text)
    characters = []
    for index, character in enumerate(text):
        if character in JOINING_CHARACTERS or ord(character) in TAGS:
            characters.append(character if index > 0 else _visible_symbol(character))
        elif not index and unicodedata.combining(character):
            characters.append("◌" + character)
        else:
            characters.append(character if character == " " else _visible_symbol(character))
    return "".join(characters)


@lru_cache(maxsize=4096)  # the same tokens recur often
def truncate(text: str, max_columns: int = MAX_COLUMNS) -> str:
    """Truncate to a number of columns with an ellipsis, without splitting grapheme clusters."""
    clusters = [_limit_accents(cluster) for cluster in grapheme_clusters(text)]
    if sum(map(display_width, clusters)) <= max_columns:
        return "".join(clusters)
    prefix, width = [], 1  # one column for the ellipsis
    for cluster in clusters:
        width += display_width(cluster)
        if width > max_columns:
            break
        prefix.append(cluster)
    return "".join(prefix).rstrip() + "…"


def plotly_text(text: str) -> str:
    """Escape tags, entities, templates and TeX for Plotly, and isolate right-to-left text."""
    escaped = text.translate(ENTITIES)
    is_right_to_left = any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in text)
    return f"{ISOLATE}{escaped}{RELEASE}" if is_right_to_left else escaped


def vertical_text(text: str) -> str:
    """Return a vertical label for Plotly, one character per line."""
    return "<br>".join(plotly_text(cluster) for cluster in grapheme_clusters(text))


def grapheme_clusters(text: str) -> list[str]:
    """Split a text into grapheme clusters."""
    results: list[str] = []
    for character in text:
        is_flag_letter = _is_flag_letter(character)
        extends_cluster = (
            unicodedata.category(character) in ("Mn", "Me", "Mc")
            or character in JOINING_CHARACTERS
            or ord(character) in TAGS
            or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        )
        if results and (
            extends_cluster
            or results[-1].endswith("\u200d")
            or (is_flag_letter and len(results[-1]) == 1 and _is_flag_letter(results[-1]))
        ):
            results[-1] += character
        else:
            results.append(character)
    return results


def display_width(text: str) -> int:
    """Return the width of a text in terminal columns: square characters and emoji take two."""
    return sum(2 if unicodedata.east_asian_width(cluster[0]) in "WF" else 1 for cluster in grapheme_clusters(text))


def text_width(text: str, size: float) -> float:
    """Estimate the width in pixels at a font size."""
    return display_width(text) * size * 0.56


def wrap(text: str, columns: int) -> list[str]:
    """Wrap text into lines of at most `columns`; Chinese may break between any two characters."""
    lines, line = [], ""
    for piece in _breakable_pieces(text):
        if line and display_width(line + piece.rstrip()) > columns:
            lines.append(line.rstrip())
            line = ""
        line += piece if line else piece.lstrip()
    return [*lines, line.rstrip()]


def is_east_asian(character: str) -> bool:
    """Whether a character is Han, Kana, Hangul or their punctuation."""
    return any(low <= ord(character) <= high for low, high in EAST_ASIAN)


def _breakable_pieces(text: str) -> Iterator[str]:
    piece = ""
    for character in text:
        is_closing = unicodedata.category(character) in ("Pe", "Pf", "Po")
        if piece and (piece[-1] == " " or is_east_asian(piece[-1]) or is_east_asian(character)) and not is_closing:
            yield piece
            piece = ""
        piece += character
    yield piece


def _visible_symbol(character: str) -> str:
    if character in VISIBLE_SIGNS:
        return VISIBLE_SIGNS[character]
    category = unicodedata.category(character)
    if category == "Zs":
        return VISIBLE_SIGNS[" "]
    return f"[U+{ord(character):04X}]" if category in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") else character


def _is_adjacent(before: Token, token: Token) -> bool:
    has_space = before.text[-1:].isspace() or token.text[:1].isspace()
    return not (before.special or token.special or has_space) and before.end == token.start and token.end > token.start


def _continues(before: Token, token: Token) -> bool:
    return _is_letter(token.text[0]) and token.word is not None and token.word == before.word


def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LNM" and not is_east_asian(character)


def _limit_accents(cluster: str) -> str:
    marks = [index for index, character in enumerate(cluster) if unicodedata.combining(character)]
    return "".join(character for index, character in enumerate(cluster) if index not in marks[MAX_ACCENTS:])


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
