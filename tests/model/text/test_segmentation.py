"""The rule for words, one line of it at a time. `|` marks where the vocabulary has cut."""

import pytest

from headlight.model.text.segmentation import UNSPACED_START, byte_offsets, characters, insert_boundaries, word_indices


def words_of(marked: str) -> list[str]:
    """The words of a text whose token borders are marked; a token's leading space is left out of its span."""
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
def test_letters_and_digits_side_by_side_are_one_word(marked: str, words: list[str]) -> None:
    assert words_of(marked) == words


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
def test_a_sign_inside_a_word_or_number_belongs_to_it_and_one_at_its_edge_does_not(
    marked: str, words: list[str]
) -> None:
    assert words_of(marked) == words


@pytest.mark.parametrize(
    ("marked", "words"),
    [
        ("Halt|!|!|?|.|.|.", ["Halt", "!!", "?", "..."]),
        ("(|“|x|”|)", ["(", "“", "x", "”", ")"]),
        ("5| €|+|+", ["5", "€", "++"]),
        ("<|/|s|>", ["<", "/", "s", ">"]),
    ],
)
def test_each_punctuation_mark_is_a_word_and_a_run_of_one_mark_too(marked: str, words: list[str]) -> None:
    assert words_of(marked) == words


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
def test_scripts_without_spaces_keep_the_cuts_of_the_vocabulary_and_a_change_of_script_splits(
    marked: str, words: list[str]
) -> None:
    assert words_of(marked) == words


@pytest.mark.parametrize(
    ("marked", "words"),
    [
        ("👨|\u200d|👩|\u200d|👧|👍|🏽", ["👨\u200d👩\u200d👧", "👍🏽"]),
        ("🇩|🇪|🇫|🇷|🇩", ["🇩🇪", "🇫🇷", "🇩"]),
        ("3|\ufe0f\u20e3| ❤|\ufe0f", ["3\ufe0f\u20e3", "❤\ufe0f"]),
        ("😀|😀", ["😀", "😀"]),
    ],
)
def test_an_emoji_with_all_it_is_composed_of_is_one_word(marked: str, words: list[str]) -> None:
    assert words_of(marked) == words


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
def test_white_space_counts_to_the_word_after_it_and_at_the_end_to_the_last(marked: str, words: list[str]) -> None:
    assert words_of(marked) == words


def test_pieces_of_one_character_are_never_parted() -> None:
    assert word_indices("😀好a", [(0, 1), (0, 1), (1, 2), (1, 2), (1, 2), (2, 3)]) == [0, 0, 1, 1, 1, 2]


def test_a_text_without_tokens_has_no_words() -> None:
    assert word_indices("", []) == []


def test_bytes_that_are_no_character_give_the_same_marks_as_the_decoder() -> None:
    broken = "aü".encode()[:2] + b"\xe4\xb8" + "好".encode() + b"\xff\xf0\x9f\x98"
    found = list(characters(broken))
    assert "".join(character for character, _ in found) == broken.decode("utf-8", errors="replace")
    assert b"".join(own for _, own in found) == broken


def test_the_space_put_in_front_has_no_place() -> None:
    assert byte_offsets(b" ab") == ("ab", {0: 0, 1: 0, 2: 1, 3: 2})
    assert byte_offsets(b"   ab") == ("  ab", {0: 0, 1: 1, 2: 2, 3: 2, 4: 3, 5: 4}), "of several the last one"
    assert byte_offsets(b"  ") == (" ", {0: 0, 1: 0, 2: 1})
    assert byte_offsets(b"") == ("", {0: 0})
    assert UNSPACED_START.startswith(r"\A "), "only a space at the very beginning is taken away again"


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
def test_only_borders_that_nobody_sees_are_marked(words: list[str], marked: str) -> None:
    assert insert_boundaries(words) == marked
