"""Word segmentation, one rule at a time. `|` separates tokens."""

import pytest

from headlight.model.text.segmentation import UNSPACED_START, byte_offsets, characters, insert_boundaries, word_indices


def marked_words(marked: str) -> list[str]:
    """The words of a text with marked token boundaries. Spans of tokens do not include a leading space."""
    text, spans = "", []
    for piece in marked.split("|"):
        space = piece.startswith(" ") and not piece.isspace()
        spans.append((len(text) + space, len(text) + len(piece)))
        text += piece
    words: dict[int, list[tuple[int, int]]] = {}
    for word, span in zip(word_indices(text, spans), spans, strict=True):
        words.setdefault(word, []).append(span)
    assert list(words) == list(range(len(words))), "words are counted from 0 without gaps"
    return [text[group[0][0] : group[-1][1]] for group in words.values()]


@pytest.mark.parametrize(
    ("marked", "words"),
    [
        ("Ein| Bier|chen", ["Ein", "Bierchen"]),
        ("20|24| Pre|ise", ["2024", "Preise"]),
        ("При|вет| κό|σμε", ["Привет", "κόσμε"]),
        ("나|는| 학교|에", ["나는", "학교에"]),
        ("cafe|\u0301|s", ["cafe\u0301s"]),
        ("Wort|\u00ad|teil", ["Wort\u00adteil"]),
        ("H|2|O", ["H2O"]),
    ],
)
def test_adjacent_letters_and_digits_are_one_word(marked: str, words: list[str]) -> None:
    assert marked_words(marked) == words


@pytest.mark.parametrize(
    ("marked", "words"),
    [
        ("don|'t", ["don't"]),
        ("geht|’|s", ["geht’s"]),
        ("gut|-|ge|launt", ["gut-gelaunt"]),
        ("E|-|Mail|-|Adresse", ["E-Mail-Adresse"]),
        ("Vor|-| und| Nachteil", ["Vor", "-", "und", "Nachteil"]),
        ("'|ja|'", ["'", "ja", "'"]),
        ("dogs|'| bone", ["dogs", "'", "bone"]),
        ("a|--|b", ["a", "--", "b"]),
        ("3|,|14", ["3,14"]),
        ("14|:|30| Uhr", ["14:30", "Uhr"]),
        ("2|.|000|.|000", ["2.000.000"]),
        ("Nr|.|5|.", ["Nr", ".", "5", "."]),
        ("ja|,|nein", ["ja", ",", "nein"]),
    ],
)
def test_punctuation_belongs_to_words_only_inside_them(marked: str, words: list[str]) -> None:
    assert marked_words(marked) == words


@pytest.mark.parametrize(
    ("marked", "words"),
    [
        ("Halt|!|!|?|.|.|.", ["Halt", "!!", "?", "..."]),
        ("(|“|x|”|)", ["(", "“", "x", "”", ")"]),
        ("5| €|+|+", ["5", "€", "++"]),
        ("<|/|s|>", ["<", "/", "s", ">"]),
    ],
)
def test_runs_of_one_punctuation_mark_are_words(marked: str, words: list[str]) -> None:
    assert marked_words(marked) == words


@pytest.mark.parametrize(
    ("marked", "words"),
    [
        ("我|用|Py|thon|编|程", ["我", "用", "Python", "编", "程"]),
        ("他|学习|了|3|个月|。", ["他", "学习", "了", "3", "个月", "。"]),
        ("人|々", ["人々"]),
        ("食|べ|る", ["食", "べ", "る"]),
        ("私|は|学校|に", ["私", "は", "学校", "に"]),
        ("ら|ー|めん", ["らー", "めん"]),
        ("らー|メン", ["らー", "メン"]),
        ("コー|ヒ|ー|を", ["コーヒー", "を"]),
        ("สวัส|ดี", ["สวัส", "ดี"]),
    ],
)
def test_unspaced_scripts_split_at_tokens_and_script_changes(marked: str, words: list[str]) -> None:
    assert marked_words(marked) == words


@pytest.mark.parametrize(
    ("marked", "words"),
    [
        ("👨|\u200d|👩|\u200d|👧|👍|🏽", ["👨\u200d👩\u200d👧", "👍🏽"]),
        ("🇩|🇪|🇫|🇷|🇩", ["🇩🇪", "🇫🇷", "🇩"]),
        ("3|\ufe0f\u20e3| ❤|\ufe0f", ["3\ufe0f\u20e3", "❤\ufe0f"]),
        ("😀|😀", ["😀", "😀"]),
    ],
)
def test_composed_emoji_are_one_word(marked: str, words: list[str]) -> None:
    assert marked_words(marked) == words


@pytest.mark.parametrize(
    ("marked", "words"),
    [
        ("Ja| |Ł|ó", ["Ja", " Łó"]),
        ("Ja|\n| \n|Nein", ["Ja", "\n \nNein"]),
        ("Ja|.| |\n", ["Ja", ". \n"]),
        ("  |\t", ["  \t"]),
        ("\ufeff|Ja", ["\ufeff", "Ja"]),
        ("\u0301|\u0301", ["\u0301\u0301"]),
        ("", [""]),
    ],
)
def test_whitespace_belongs_to_next_word_or_at_the_end_to_the_last(marked: str, words: list[str]) -> None:
    assert marked_words(marked) == words


def test_pieces_of_a_character_are_one_word() -> None:
    assert word_indices("😀好a", [(0, 1), (0, 1), (1, 2), (1, 2), (1, 2), (2, 3)]) == [0, 0, 1, 1, 1, 2]


def test_empty_text_has_no_words() -> None:
    assert word_indices("", []) == []


def test_invalid_bytes_are_replaced_like_in_python() -> None:
    broken = "aü".encode()[:2] + b"\xe4\xb8" + "好".encode() + b"\xff\xf0\x9f\x98"
    decoded = list(characters(broken))
    assert "".join(character for character, _ in decoded) == broken.decode("utf-8", errors="replace")
    assert b"".join(data for _, data in decoded) == broken


def test_added_leading_space_has_no_offset() -> None:
    assert byte_offsets(b" ab") == ("ab", {0: 0, 1: 0, 2: 1, 3: 2})
    assert byte_offsets(b"   ab") == ("  ab", {0: 0, 1: 1, 2: 2, 3: 2, 4: 3, 5: 4}), "the last of several spaces"
    assert byte_offsets(b"  ") == (" ", {0: 0, 1: 0, 2: 1})
    assert byte_offsets(b"") == ("", {0: 0})
    assert UNSPACED_START.startswith(r"\A "), "only a space at the very beginning is removed"


@pytest.mark.parametrize(
    ("words", "marked"),
    [
        (["我们", "在", "学习", "Python", "，", "好"], "我们\n在\n学习Python，好"),
        (["3", "个", "人", " ", "来", "了"], "3个\n人 来\n了"),
        (["", "私", "は", ""], "私\nは"),
        (["コーヒー", "を", "飲む"], "コーヒーを\n飲む"),
        (["plain", " ", "words"], "plain words"),
        ([], ""),
    ],
)
def test_only_invisible_word_boundaries_are_marked(words: list[str], marked: str) -> None:
    assert insert_boundaries(words) == marked
