"""Bundled models: complete, small enough for Git, described by their cards, and as accurate as stated."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from headlight.model.checkpoints.checksums import markdown_file_list
from headlight.model.checkpoints.reports import REPORTS
from headlight.model.commands.heads import HeadReading, count_heads, find_links_table, render_section, sum_counts
from headlight.model.commands.measured import FAITHFULNESS, is_up_to_date
from headlight.model.core.classifier import SelfAttentionClassifier
from headlight.model.core.transformer import Transformer
from headlight.model.families.loading import kind_of_folder, read_checkpoint
from headlight.model.text.gold_links import read_links
from headlight.model.translate.judge import Judge
from headlight.model.translate.translator import Translator

MODELS = Path(__file__).resolve().parents[1] / "assets" / "models"
FOLDERS = sorted(path.name for path in MODELS.iterdir() if path.is_dir())
CLASSES = {"transformer": Transformer, "classifier": SelfAttentionClassifier}
MEGABYTE = 1_000_000


@pytest.mark.parametrize("name", FOLDERS)
def test_model_loads_and_matches_checksums(name: str) -> None:
    loaded = read_checkpoint(MODELS / name, CLASSES[kind_of_folder(MODELS / name)], verify=True)
    assert loaded.fingerprint


@pytest.mark.parametrize("name", FOLDERS)
def test_card_lists_files_licence_and_training_command(name: str) -> None:
    card = (MODELS / name / "README.md").read_text(encoding="utf-8")
    assert markdown_file_list(MODELS / name) in card
    for part in ("licence", "python -m headlight train", "seed"):
        assert part.lower() in card.lower(), f"the card of {name} does not mention: {part}"


def test_model_files_are_small() -> None:
    sizes = {path: path.stat().st_size for path in MODELS.rglob("*") if path.is_file()}
    assert max(sizes.values()) < 10 * MEGABYTE
    assert sum(sizes.values()) < 76 * MEGABYTE


def test_sentiment_model_is_small_and_classifies_plain_reviews() -> None:
    folder = MODELS / "sentiment"
    assert sum(path.stat().st_size for path in folder.iterdir()) < 6 * MEGABYTE
    judge = Judge.load(folder, device="cpu")
    for text in (
        "A quiet film with a warm heart.",
        "What a wonderful, touching story!",
        "The cast is superb.",
        "Not bad at all.",
        "I was not disappointed.",
    ):
        assert judge.judge(text).verdict == "positive", text
    for text in (
        "It's long, loud and dull.",
        "A complete waste of time.",
        "It is not a good film.",
        "The plot is stupid and the acting is awful.",
    ):
        assert judge.judge(text).verdict == "negative", text


@pytest.mark.parametrize(
    ("text", "probability"), [("I never want to see this again.", 0.82), ("The weather was nice.", 0.97)]
)
def test_card_failures_are_reproduced(text: str, probability: float) -> None:
    card = (MODELS / "sentiment" / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"{re.escape(text)}\"[^.]*?\(?0?{probability:.2f}".replace("0?0", "0"), card)
    assert Judge.load(MODELS / "sentiment", device="cpu").judge(text).probability == pytest.approx(
        probability, abs=0.01
    )


EVERYDAY = {  # sentence: all correct translations
    "de-en": {
        "Ich trinke ein Bier.": {"I drink a beer.", "I'm drinking a beer.", "I am drinking a beer.",
                                 "I'm having a beer."},
        "Wo ist der Bahnhof?": {"Where is the train station?", "Where's the train station?", "Where is the station?",
                                 "Where's the station?"},
        "Guten Morgen!": {"Good morning!", "Good morning."},
        "Wie heißt du?": {"What's your name?", "What is your name?"},
        "Ich habe Hunger.": {"I'm hungry.", "I am hungry."},
        "Das Kind schläft.": {"The child is sleeping.", "The child is asleep.", "The child sleeps."},
        "Ein Hund rennt über die Wiese.": {
            "A dog runs across the meadow.", "A dog is running across the meadow.", "A dog runs over the meadow.",
            "A dog runs across the grass.", "A dog is running across the grass.", "A dog runs through the grass.",
            "A dog is running through the grass.", "A dog runs across the field.", "A dog runs through the meadow.",
            "A dog is running over the grass.", "A dog is running through the meadow.",
            "A dog is running over the meadow.",
        },
        "Kannst du mir helfen?": {"Can you help me?", "Could you help me?"},
        "Es regnet heute.": {"It's raining today.", "It is raining today.", "It rains today."},
        "Zwei Männer spielen Fußball.": {
            "Two men are playing soccer.", "Two men play soccer.", "Two men playing soccer.",
            "Two men are playing football.", "Two men play football.",
        },
        "Ich weiß nicht, wo er wohnt.": {"I don't know where he lives.", "I do not know where he lives."},
        "Wann kommst du nach Hause?": {
            "When are you coming home?", "When will you come home?", "When do you come home?", "When will you be home?",
            "When will you get home?", "When do you get home?", "When are you going home?",
        },
    },
    "en-de": {
        "I am drinking a beer.": {"Ich trinke ein Bier.", "Ich trinke gerade ein Bier."},
        "Where is the train station?": {"Wo ist der Bahnhof?"},
        "Good morning!": {"Guten Morgen!", "Guten Morgen."},
        "How old are you?": {"Wie alt bist du?", "Wie alt sind Sie?", "Wie alt seid ihr?"},
        "I'm hungry.": {"Ich habe Hunger.", "Ich bin hungrig."},
        "The child is sleeping.": {"Das Kind schläft."},
        "A dog is running on the beach.": {
            "Ein Hund läuft am Strand.", "Ein Hund rennt am Strand.", "Ein Hund läuft auf dem Strand.",
            "Ein Hund rennt auf dem Strand.", "Ein Hund rennt am Strand entlang.", "Ein Hund läuft am Strand entlang.",
        },
        "Can you help me?": {"Kannst du mir helfen?", "Können Sie mir helfen?", "Könnt ihr mir helfen?"},
        "It is raining today.": {"Heute regnet es.", "Es regnet heute."},
        "Two men are playing soccer.": {"Zwei Männer spielen Fußball."},
        "I don't know where he lives.": {"Ich weiß nicht, wo er wohnt.", "Ich weiß nicht, wo er lebt."},
        "When are you coming home?": {
            "Wann kommst du nach Hause?", "Wann kommen Sie nach Hause?", "Wann kommt ihr nach Hause?",
        },
    },
    "zh-en": {
        "我饿了。": {"I'm hungry.", "I am hungry."},
        "你叫什么名字？": {"What's your name?", "What is your name?"},
        "早上好！": {"Good morning!", "Good morning."},
        "他是我的朋友。": {"He's my friend.", "He is my friend.", "He is a friend of mine.", "He's a friend of mine."},
        "今天下雨了。": {"It's raining today.", "It is raining today.", "It rained today."},
        "我不知道他住在哪里。": {"I don't know where he lives.", "I do not know where he lives."},
        "你能帮我吗？": {"Can you help me?", "Could you help me?"},
        "两个男人在踢足球。": {
            "Two men are playing soccer.", "Two men playing soccer.", "Two men play soccer.",
            "Two men are playing football.", "Two men playing football.",
        },
        "孩子在睡觉。": {
            "The child is sleeping.", "The child is asleep.", "The children are sleeping.", "The kid is sleeping.",
        },
        "我喜欢喝茶。": {"I like tea.", "I like to drink tea.", "I like drinking tea."},
        "请给我一杯水。": {"Please give me a glass of water.", "Give me a glass of water, please."},
        "她每天早上喝咖啡。": {"She drinks coffee every morning.", "She has coffee every morning."},
    },
    "en-zh": {
        "I'm hungry.": {"我饿了。", "我饿。"},
        "What is your name?": {"你叫什么名字？", "您叫什么名字？"},
        "Good morning!": {"早！", "早上好！", "早安！", "早上好。"},
        "He is my friend.": {"他是我的朋友。", "他是我朋友。"},
        "It is raining today.": {"今天下雨。", "今天在下雨。", "今天下雨了。"},
        "I don't know where he lives.": {"我不知道他住在哪里。", "我不知道他住哪里。", "我不知道他住在哪儿。"},
        "Can you help me?": {"你能帮我吗？", "你能帮助我吗？", "你可以帮我吗？", "您能帮我吗？"},
        "Two men are playing soccer.": {"两个男人在踢足球。", "两个人在踢足球。", "两名男子在踢足球。"},
        "The child is sleeping.": {"孩子在睡觉。", "孩子正在睡觉。", "这个孩子在睡觉。"},
        "I like to drink tea.": {"我喜欢喝茶。"},
        "Please give me a glass of water.": {"请给我一杯水。"},
        "She drinks coffee every morning.": {"她每天早上喝咖啡。", "她每天早上都喝咖啡。"},
    },
}  # fmt: skip


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("name", EVERYDAY)
def test_everyday_sentences_are_translated_correctly(name: str, beam_size: int) -> None:
    assert len(EVERYDAY[name]) == 12
    translator = Translator.load(MODELS / name, "cpu")
    for sentence, accepted in EVERYDAY[name].items():
        assert translator.translate(sentence, beam_size=beam_size).text in accepted, sentence


@pytest.mark.parametrize("name", ["de-en", "en-de", "en-zh", "zh-en"])
def test_alignment_heads_are_ranked_with_error_ranges(name: str) -> None:
    ranked = json.loads((MODELS / name / "heads.json").read_text(encoding="utf-8"))["heads"]
    assert [each["chosen_by"] for each in ranked] == sorted(each["chosen_by"] for each in ranked)
    assert all(each["low"] < each["error_rate"] < each["high"] for each in ranked)
    assert {each["shift"] for each in ranked} == {0, 1}


@pytest.mark.slow
def test_float16_steps_match_float32_on_200_sentences() -> None:
    with (MODELS.parent / "corpora" / "mini.tsv").open(encoding="utf-8", newline="") as file:
        lines = [row["de"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)][:200]
    assert len(lines) == 200
    fast, plain = (Translator.load(MODELS / "de-en", "cpu", step_weights=weights) for weights in ("float16", "plain"))
    assert fast.translate_lines(lines) == plain.translate_lines(lines)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["de-en", "en-de", "en-zh", "zh-en"])
def test_best_alignment_head_has_stated_error_rate(name: str) -> None:
    source, _, target = name.partition("-")
    first = json.loads((MODELS / name / "heads.json").read_text(encoding="utf-8"))["heads"][0]
    pairs = read_links(find_links_table(source, target), source, target)[
        1::2
    ]  # the test half, not the half that selected the head
    counts = count_heads(Translator.load(MODELS / name, "cpu"), pairs)
    best_head = HeadReading(first["layer"], first["head"], first["shift"])
    assert sum_counts(counts[best_head]).rate == pytest.approx(first["error_rate"], abs=0.01)
    # The head was selected on other sentences: no head may be clearly better on these.
    assert min(sum_counts(count).rate for count in counts.values()) >= first["low"]


@pytest.mark.parametrize("name", ["de-en", "en-de", "en-zh", "zh-en"])
def test_card_section_matches_heads_json(name: str) -> None:
    heads = json.loads((MODELS / name / "heads.json").read_text(encoding="utf-8"))["heads"]
    table = find_links_table(*name.split("-"))
    sentences = len(table.read_text(encoding="utf-8").splitlines()) - 1
    section = render_section(heads, name, table.name, sentences)
    assert section.strip() in (MODELS / name / "README.md").read_text(encoding="utf-8")


def test_bundled_reports_match_model_weights() -> None:
    """Reports have a digest of the weights only: a new reliability rule does not outdate them."""
    reports = {path: path.parent for name in REPORTS for path in MODELS.glob(f"*/{name}")}
    reports |= {path: MODELS / path.stem for path in FAITHFULNESS.glob("*.json")}
    assert len(reports) == 4 * 3 + 4 + 4
    stale = [path for path, folder in reports.items() if not is_up_to_date(path, folder)]
    assert not stale, "make measured"


def test_hard_sentence_is_flagged_and_plain_one_is_not() -> None:
    translator = Translator.load(MODELS / "de-en", "cpu")
    hard = translator.translate(
        "Die Photosynthese wandelt Lichtenergie in chemische Energie um.", beam_size=4
    ).reliability
    plain = translator.translate("Ich trinke ein Bier.", beam_size=4).reliability
    assert hard is not None
    assert plain is not None
    assert hard.is_doubtful
    assert plain.grade == "right"
