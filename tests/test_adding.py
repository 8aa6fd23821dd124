"""A new option, palette, encoding, measure, quiz question, lesson, step or family needs few edits, tried in a copy.

Not counted: phrases in both languages, and the stored first answer, which `make first` updates after a new option.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from headlight import Translator
from headlight.model.errors import ModelError

ROOT = Path(__file__).resolve().parents[1]
TOY = "assets/models/toy"

OPTION = {
    "model/records.py": [
        (
            "    alternatives: int = 5  #",
            "    least_length: int = 0  # tokens before the end at least\n    alternatives: int = 5  #",
        ),
        (
            '        "no_repeat": (0, 100),\n',
            '        "no_repeat": (0, 100),\n        "least_length": (0, 50),\n',
        ),
    ],
    "model/decoding/step.py": [
        (
            "    if any(prefixes):\n        rules.append(ForcePrefix",
            "    if options.least_length:\n"
            "        rules.append(MinLength(options.least_length, end_ids(config, defaults)))\n"
            "    if any(prefixes):\n        rules.append(ForcePrefix",
        ),
    ],
    "model/commands/common.py": [
        (
            '    parser.add_argument("--seed"',
            '    parser.add_argument("--least-length", type=int, metavar="N", help="tokens at least (0)")\n'
            '    parser.add_argument("--seed"',
        ),
        ('"top_p", "seed")', '"top_p", "seed", "least_length")'),
    ],
    "viz/request_fields.py": [
        (
            '    _field("target_language"',
            '    _field("least_length", IntValue(*INT_RANGES["least_length"]), in_link=True, on_page=True),\n'
            '    _field("target_language"',
        ),
    ],
}
PALETTE = {
    "viz/theme.py": [
        (
            '    "difference": {  #',
            '    "ink": {"light": ((0.97, 0, 0), (0.1, 0, 0)), "dark": ((0.1, 0, 0), (0.97, 0, 0))},\n'
            '    "difference": {  #',
        ),
    ],
}
ENCODING = {
    "model/core/config.py": [("POSITION_NAMES = (", 'POSITION_NAMES = ("counted", ')],
    "model/core/positions.py": [
        (
            "POSITIONS: dict[",
            "class CountedPositions(AddedPositions):\n"
            "    def rows(self, start, end, like):\n"
            "        return torch.arange(start, end).to(like)[:, None].expand(end - start, self.width) / 100\n\n"
            "    def as_array(self, length):\n"
            "        return self.rows(0, length, torch.zeros(1))\n\n\n"
            "POSITIONS: dict[",
        ),
        ('    "none": lambda', '    "counted": lambda config, causal: CountedPositions(config),\n    "none": lambda'),
    ],
}
LESSON = {
    "viz/lessons/__init__.py": [
        (
            "from headlight.viz.lessons.lesson import Lesson\n",
            "from headlight.viz.lessons.greeting import GREETING\nfrom headlight.viz.lessons.lesson import Lesson\n",
        ),
        ("LESSONS: tuple[Lesson, ...] = (WALK,", "LESSONS: tuple[Lesson, ...] = (GREETING, WALK,"),
    ],
}
QUESTION = {
    "viz/lessons/quiz/attention_items.py": [
        (
            "ATTENTION_ITEMS = (\n",
            "def largest(case):\n"
            "    row = case.random.randrange(len(case.pair.source))\n"
            '    ranked = [case.pair.source[key] for key in np.argsort(-case.head_values("encoder.shares")[row])]\n'
            "    answers = make_outcomes(right=ranked[0], second=ranked[1], least=ranked[-1])\n"
            '    return Question("choice", answers, {"asking": case.pair.source[row]}, options=case.pair.source)\n\n\n'
            'ATTENTION_ITEMS = (\n    Item("largest", "softmax", largest),\n',
        ),
    ],
}
NEW_STEP = {
    "viz/lessons/norms.py": [
        (
            "    steps=(\n",
            '    steps=(\n        Step("again", code=Code(make_norm, "return nn.LayerNorm("), formula="n = @count"),\n',
        ),
    ],
}
GREETING = """
from headlight.model.core.masks import causal_mask
from headlight.viz.lessons.controls import Slider
from headlight.viz.lessons.result_figures import BarChart, ExperimentResult, Phrase
from headlight.viz.lessons.experiment import Experiment
from headlight.viz.lessons.lesson import Code, Figure, Lesson, Step, TensorView


def count(inputs):
    rows = range(1, inputs.values["rows"] + 1)
    bars = BarChart(Phrase("open"), list(map(str, rows)), list(map(float, rows)))
    return ExperimentResult((bars,), {"all": sum(rows)})


COUNT = Step(
    "count",
    code=Code(causal_mask, ".tril("),
    formula=r"\\sum_i i = @all",
    experiment=Experiment(count, (Slider("rows", 1, 9, 4),)),
)
STEP = Step(
    "look",
    node="d.mask",
    kind="decoder",
    code=Code(causal_mask, ".tril("),
    figures=(Figure("heat", (TensorView("weights", "weights"),), scale="share", square=True),),
    formula=r"w = @best_weight",
    picks=("layer", "head", "written"),
)
SCORES = TensorView("weights", "decoder.layers.0.self_attention.scores")
GREETING = Lesson("greeting", minutes=1, picture=(SCORES,), steps=(STEP, COUNT))
"""
MEASURE = {
    "model/measures/statistics.py": [
        (
            "STATISTICS: dict[str, Statistic] = {\n",
            "def second(weights: FloatArray, geometry: MapGeometry) -> FloatArray:\n"
            "    return _mean(weights[..., 1], geometry.rows_with_several_keys)\n\n\n"
            'STATISTICS: dict[str, Statistic] = {\n    "second": Statistic(second, "share", "https://…"),\n',
        ),
    ],
}
# A family that equals Marian except for its name and the name of one field.
FAMILY = {
    "model/families/__init__.py": [
        ('    "marian": ', '    "marianne": "headlight.model.families.marianne",\n    "marian": ')
    ],
}
MARIANNE = """
from headlight.model.families.marian import Marian


class Marianne(Marian):
    def map_config(self, folder, values):
        return super().map_config(folder, values | {"d_model": values["width"]})


def reader():
    return Marianne()
"""
CASES = {
    "option": (
        OPTION,
        4,
        f"""
from headlight import Translator
from headlight.model.commands.common import add_decoding, decoding_options
from headlight.viz.service.model_json import make_default_request
from headlight.viz.service.service import Service
from headlight.viz.request_fields import browser_fields, parse_request
from headlight.viz.settings import Settings
import argparse
toy = Translator.load("{TOY}", device="cpu")
plain = toy.translate("ich mochte ein bier")
assert len(toy.translate("ich mochte ein bier", least_length=9).target_tokens) > len(plain.target_tokens)
assert parse_request({{"text": "a", "least_length": 9}}, Settings()).options.least_length == 9
assert make_default_request(Service(Settings()))["least_length"] == 0
row = next(row for row in browser_fields()["request"] if row["name"] == "least_length")
assert (row["kind"], row["low"], row["high"]) == ("whole", 0, 50)
assert row["in_link"] and row["on_page"] and row["option"]
parser = argparse.ArgumentParser()
add_decoding(parser)
parser.add_argument("text")
assert decoding_options(parser.parse_args(["--least-length", "9", "a"]))["least_length"] == 9
""",
    ),
    "palette": (
        PALETTE,
        1,
        """
from headlight.viz.request_fields import browser_fields, parse_selection
from headlight.viz.settings import Settings
from headlight.viz.theme import THEMES, browser_theme, colour_scale
assert parse_selection({"palette": "ink"}, Settings()).palette == "ink"
row = next(row for row in browser_fields()["selection"] if row["name"] == "palette")
assert row["choices"] == ("headlight", "cividis", "grey", "ink") and row["default"] == "headlight"
assert len(browser_theme()["dark"]["scales"]["ink"]) == len(colour_scale("ink", THEMES["light"]))
""",
    ),
    "encoding": (
        ENCODING,
        2,
        """
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from headlight.viz.tabs.positions import encoding_json
values = {"model": "toy", "encoding": "counted", "length": 7, "theme": "light", "language": "en"}
response = encoding_json(Service(Settings()), values)
assert "counted" in response["choices"] and response["form"] == "table" and response["figure"] is not None
""",
    ),
    "question": (
        QUESTION,
        1,
        """
from headlight.viz.lessons.quiz.class_calls import counter_key
from headlight.viz.lessons.quiz.forms import read_quiz
questions = [read_quiz({})["forms"][form]["largest"] for form in "ABC"]
assert [question["outcomes"][0]["name"] for question in questions] == ["right"] * 3
values = {"stage": "after", "form": "A", "item": "largest", "outcome": "least"}
assert counter_key(values) == "after.A.largest.least"
""",
    ),
    "measure": (
        MEASURE,
        1,
        f"""
from headlight import Translator
from headlight.model.measures.statistics import measure
from headlight.viz.api.endpoints import Endpoints
from headlight.viz.request_fields import parse_selection
from headlight.viz.service.model_json import answer_json, make_default_request
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from headlight.model.experiments.survey import check_measures
import json
answer = Translator.load("{TOY}", device="cpu").translate("ich mochte ein bier")
assert measure(answer, "cross", "second").shape == answer.attention.cross.shape[:2]
service = Service(Settings())
request = service.check(make_default_request(service) | {{"text": "ich"}})
sent = json.loads(answer_json(service, service.translate(request)))
unit, scale, letters = sent["measures"]["cross"]["second"]
assert (unit, scale, len(letters)) == ("share", 1, answer.attention.cross[:, :, 0, 0].size)
assert parse_selection({{"measure": "second"}}, Settings()).measure == "second"
values = {{"text": "ich", "model": "toy", "kind": "cross", "layer": 0, "head": 0}}
assert 0 <= Endpoints(service).attention(values)["measures"]["second"] <= 1
check_measures(["second"])
""",
    ),
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the code and the smallest model."""
    ignore = shutil.ignore_patterns("__pycache__")
    for folder in ("model", "viz", "assets/words", "assets/pictures", "assets/lesson", TOY):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignore)
    for file in ("headlight.py", "assets/models/hub.json"):
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


def change(folder: Path, changes: dict[str, list[tuple[str, str]]]) -> None:
    for file, pairs in changes.items():
        text = (folder / file).read_text(encoding="utf-8")
        for old, new in pairs:
            assert text.count(old) == 1, (file, old)
            text = text.replace(old, new)
        (folder / file).write_text(text, encoding="utf-8")


# One process runs all cases, because importing the code takes most of the time.
RUN_ALL = """
import json, sys, traceback
for name, script in json.loads(sys.argv[1]).items():
    try:
        exec(script, {})
        print(json.dumps([name, ""]))
    except Exception:
        print(json.dumps([name, traceback.format_exc()]))
"""


def case_errors(folder: Path) -> dict[str, str]:
    """The traceback of each case with the code of a folder; "" if it passes."""
    scripts = json.dumps({name: case[2] for name, case in CASES.items()})
    process = subprocess.run(
        [sys.executable, "-c", RUN_ALL, scripts], cwd=folder, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    return dict(json.loads(line) for line in process.stdout.splitlines())


@pytest.mark.slow
def test_additions_change_few_files(copy: Path) -> None:
    for name, (changes, most, _) in CASES.items():
        assert len(changes) <= most, name
        change(copy, changes)
    assert case_errors(copy) == dict.fromkeys(CASES, "")
    assert all(case_errors(ROOT).values())  # every case fails without the addition


@pytest.mark.slow
def test_new_lesson_and_new_step_need_few_edits(copy: Path) -> None:
    (copy / "viz/lessons/greeting.py").write_text(GREETING, encoding="utf-8")
    change(copy, LESSON)
    change(copy, NEW_STEP)
    for language in ("en", "zh"):
        path = copy / "assets/words" / f"{language}.json"
        phrases = {"name": "Greeting", "promise": "…", "look_title": "Looking back", "look_words": "It looks back."}
        phrases |= {
            "count_title": "Counting",
            "count_words": "{all} pairs.",
            "control_rows": "rows",
            "say_open": "open",
        }
        more = {f"lesson_greeting_{key}": f"{text} {language}" for key, text in phrases.items()}
        more |= {"lesson_norms_again_title": f"Once more {language}", "lesson_norms_again_words": "{count} tokens."}
        path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | more), encoding="utf-8")
    script = """
from headlight.viz.service.service import Service
from headlight.viz.lessons.experiment_server import make_experiment_call
from headlight.viz.lessons.tensors import make_tensors_call
from headlight.viz.settings import Settings
from headlight.viz.tabs.learn import read_lessons
from headlight.viz.browser_files.static_files import content
first = read_lessons({})[0]
assert first["name"] == "greeting" and first["steps"][0]["code"]["file"] == "model/core/masks.py"
(lit,) = first["steps"][0]["code"]["lit"]
assert any(number == lit and ".tril(" in line for number, line in first["steps"][0]["code"]["lines"])
norms = next(lesson for lesson in read_lessons({}) if lesson["name"] == "norms")
assert norms["steps"][0]["name"] == "again" and norms["steps"][0]["formula"] == "n = @count"
assert b"Once more zh" in content("lessons.js")
assert b"Looking back zh" in content("lessons.js") and b"Looking back zh" not in content("headlight.js")
values = {"request": {"text": "ich", "model": "toy"}, "names": [show["path"] for show in first["picture"]]}
service = Service(Settings())
assert len(make_tensors_call(service)(values)["tensors"]) == 1
assert first["steps"][1]["experiment"]["controls"][0]["form"] == "slider"
run = {"request": values["request"], "lesson": "greeting", "step": "count", "set": {"rows": 3}}
result = make_experiment_call(service)(run)
assert result["numbers"] == {"all": "6"} and result["figures"][0]["values"] == [1, 2, 3]
"""
    process = subprocess.run([sys.executable, "-c", script], cwd=copy, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr


@pytest.mark.slow
def test_new_family_needs_one_file_and_one_line(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    from tests.model.families.folders import marian  # here, because it imports transformers

    model_folder = marian(tmp_path_factory.mktemp("theirs") / "marianne")
    expected = Translator.load(model_folder, device="cpu").translate("Ich trinke ein Bier.", beam_size=3).text
    values = json.loads((model_folder / "config.json").read_text(encoding="utf-8"))
    values |= {"model_type": "marianne", "width": values.pop("d_model")}
    (model_folder / "config.json").write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(ModelError, match="marianne"):
        Translator.load(model_folder, device="cpu")
    (copy / "model/families/marianne.py").write_text(MARIANNE, encoding="utf-8")
    change(copy, FAMILY)
    script = f"""
from headlight import Translator
print(Translator.load({str(model_folder)!r}, device="cpu").translate("Ich trinke ein Bier.", beam_size=3).text)
"""
    process = subprocess.run(
        [sys.executable, "-c", script], cwd=copy, capture_output=True, encoding="utf-8", check=False
    )
    assert process.stdout.removesuffix("\n") == expected, process.stderr
    assert expected.strip()
