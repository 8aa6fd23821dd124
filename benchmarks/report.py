"""From measurements to `docs/benchmarks.md`: the same result gives the same text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any

from benchmarks.arithmetic import format_megabytes, format_milliseconds, goal_mark
from benchmarks.decode import REFERENCE, disagreements
from benchmarks.environment import MAX_BUSY_CORES
from benchmarks.shapes import (
    GOALS,
    IMPORTANCE_GOAL,
    LINES_GOAL,
    LIVE_GOAL,
    MEMORY_GOAL,
    OWN_GOAL,
    PAGE_GOALS,
    PAINT_GOALS,
    PASS_GOAL,
    RUN_GOAL,
    STEP_GOAL,
    TRAINING_GOALS,
    TRANSLATOR_GOAL,
    VISIT_GOALS,
    WATCHED_GOAL,
)

Result = Mapping[str, Any]

ROWS = {  # in the order of columns
    "transformers": "`transformers` Marian `generate`, attentions out",
    "tutorial": "tutorial: `nn.Transformer`, encoder once, decoder again each word",
    "tutorial-whole": "tutorial: all of `nn.Transformer` again each word",
    "ctranslate2": "CTranslate2 float32 (no maps)",
    "ctranslate2-int8": "CTranslate2 int8 (no maps)",
    "headlight": "**Headlight** (all maps)",
    "headlight-float32": "Headlight, float32 steps (all maps)",
    "translator": "`Translator.translate`",
}
OURS = "headlight"

INTRODUCTION = """# Benchmarks

Written by `make bench` (`python -m benchmarks all`) from the numbers in `benchmarks.json` beside this file. Every
engine runs in a process of its own, and only one is at work at a time: A B C A B C …, so that a slow moment of the
machine meets all. A measurement is the median of as many runs as fit into a tenth of a second, after one run that does
not count, with Python's garbage collector off; tables give the median of all measurements of a row.
"""


def render(results: Result) -> str:
    """The whole document, of the sections that have been measured."""
    measured = {name: results[name] for name in SECTIONS if name in results}
    everywhere = {environment_section(result) for result in measured.values()}
    if len(everywhere) == 1:
        return "\n".join([INTRODUCTION, *everywhere, *(SECTIONS[name](result) for name, result in measured.items())])
    return "\n".join([INTRODUCTION, *(render_section(name, result) for name, result in measured.items())])


def render_section(name: str, result: Result) -> str:
    """One section that stands for itself."""
    return f"{SECTIONS[name](result)}\n{environment_section(result)}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """Markdown; the first columns are words, the others are numbers."""
    ruler = [*["---"] * words, *["---:"] * (len(head) - words)]
    return "".join(f"| {' | '.join(row)} |\n" for row in [head, ruler, *rows])


def environment_section(result: Result) -> str:
    """Machine, versions and command: once, or per section if the sections were measured separately."""
    about = result["about"]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    load = about["load"]
    busy = (
        f" **Other work kept {load} cores busy: take these as rough.**"
        if load is not None and load > MAX_BUSY_CORES
        else ""
    )
    return (
        f"`{about['command']}`, {about['date']}: {about['processor']}, {about['cores']} cores, {about['memory']}, "
        f"{about['system']}; {versions}.{busy}\n"
    )


# ------------------------------------------------------------ sections


def decoding(result: Result, title: str = "Decoding, with every attention map") -> str:
    """All engines by case, then the goals."""
    cases = result["cases"]
    rows = [row for row in ROWS if any(row in case["seconds"] for case in cases)]
    shapes = dict.fromkeys(f"*{case['name'].split(',')[0]}*: {case['shape']}." for case in cases)
    parts = [
        f"## {title}\n",
        f"Greedy; batch × tokens, as many in as out; milliseconds, medians of {result['repetitions']}, "
        f"{result['threads']} threads. Random weights, the same for all engines but the tutorial's. "
        f"{' '.join(shapes)}\n",
        table(
            ["", *(case["name"] for case in cases)],
            [[ROWS[row], *(_median(case, row) for case in cases)] for row in rows],
        ),
    ]
    parts += [f"Skipped {name}: {absence}.\n" for name, absence in result["absent"].items()]
    parts += [f"**{complaint}: these times compare nothing.**\n" for complaint in disagreements(result)]
    parts.append(_agreement(cases))
    return "\n".join(parts)


def on_cpu(result: Result) -> str:
    """Decoding with the goals that were set for the default CPU path."""
    goals = [
        [
            case["name"],
            f"{peer}: {_goal(goal.at_least, goal.at_most)}",
            _ratio(case["seconds"][OURS]["median"], case["seconds"][peer]["median"], slower=goal.at_most is not None),
            goal_mark(goal.met(case["seconds"][OURS]["median"], case["seconds"][peer]["median"])),
        ]
        for case in result["cases"]
        for (name, peer), goal in GOALS.items()
        if name == case["name"] and peer in case["seconds"]
    ]
    goals += [
        [
            case["name"],
            f"`Translator` over the model alone: at most {TRANSLATOR_GOAL}",
            f"{over:.2f}",
            goal_mark(over <= TRANSLATOR_GOAL),
        ]
        for case in result["cases"]
        if "translator" in case["seconds"]
        for over in [case["seconds"]["translator"]["median"] / case["seconds"][OURS]["median"]]
    ]
    return "\n".join([decoding(result), "### Goals\n", table(["case", "goal", "measured", ""], goals, words=2)])


def on_gpu(result: Result) -> str:
    """The same on a GPU, or one line."""
    if "absence" in result:
        return f"## On a GPU\n\n{result['absence']}\n"
    return decoding(result, f"On a GPU: {result['device']}, bfloat16")


def probes(result: Result) -> str:
    """Overhead of unwatched probes."""
    rows = [
        _pair("cached step, with probes over without", result["step"], STEP_GOAL),
        _pair("teacher-forced pass, with probes over without", result["pass"], PASS_GOAL),
        _pair("control: the step without probes over itself", result["control"], None),
        _pair("prepared step (what decoding uses) over the plain one without probes", result["prepared"], None),
    ]
    return "\n".join(
        [
            "## Probes that nobody watches\n",
            f"Beside the same code without them (`benchmarks/without_probes.py`): {result['shape']}; a sentence of "
            f"{result['tokens']} tokens, {result['threads']} thread(s). Ratios pair by pair, with the bounds of their "
            f"median (95%, {result['step']['ratio']['pairs']} pairs).\n",
            table(["", "ms", "ms of the other", "ratio", "bounds", "goal", ""], rows),
        ]
    )


def lines(result: Result) -> str:
    """Many lines without capture."""
    names = {
        "headlight": "`Translator.translate_lines`, text to text",
        "ctranslate2": "CTranslate2 float32, ids to ids",
        "ctranslate2-int8": "CTranslate2 int8, ids to ids",
    }
    count, written = result["lines"], result["written_tokens"]
    rows = []
    for name, seconds in result["seconds"].items():
        median = seconds["median"]
        rows.append([names[name], f"{median:.2f}", f"{count / median:,.0f}", f"{written / median:,.0f}"])
    parts = [
        f"## {count:,} everyday lines\n",
        f"Greedy, nothing captured, {result['threads']} threads, medians of {result['repetitions']}. Model: "
        f"{result['about_model']}. {result['source_tokens'] / count:.1f} tokens a line, {written:,} tokens written.\n",
        table(["", "seconds", "lines/s", "tokens/s"], rows),
    ]
    if "best" in result:
        ours, theirs = (result["seconds"][name]["median"] for name in ("headlight", "ctranslate2"))
        tried = ", ".join(f"{name}: {seconds:.2f}" for name, seconds in result["tried"].items())
        parts.append(
            f"Goal: {LINES_GOAL:g} times as fast as CTranslate2 float32 with its best batch size ({result['best']}): "
            f"{theirs / ours:.2f} times as fast, {goal_mark(theirs / ours >= LINES_GOAL)}. {result['same_tokens']:.2%} "
            f"of the tokens are those of CTranslate2 float32. Its batch sizes, in seconds: {tried}.\n"
        )
    else:
        parts.append(f"Not compared: {result['absence']}.\n")
    if "own_tokens" in result:
        own = result["own_tokens"]
        parts.append(
            f"Goal: {OWN_GOAL:.1%} of the tokens are those that float32 steps write: {own:.2%}, "
            f"{goal_mark(own >= OWN_GOAL)}.\n"
        )
    return "\n".join(parts)


def memory(result: Result) -> str:
    """Loading."""
    if "absence" in result:
        return f"## Memory while loading\n\n{result['absence']}\n"
    rows = []
    for model in result["models"]:
        growth = model["peak"] - model["before"]
        own = model["weights"] - model["copied"]
        share = growth / own
        numbers = [format_megabytes(number) for number in (own, model["copied"], model["fresh"], growth)]
        rows.append([model["name"], *numbers, f"{share:.2f}", goal_mark(share < MEMORY_GOAL)])
    shapes = " ".join(f"*{model['name']}*: {model['shape']}." for model in result["models"])
    return "\n".join(
        [
            "## Memory while loading\n",
            "`Translator.load` and one greedy sentence, in a process that has done nothing else, and in one that has "
            "used a tiny model, so that libraries are there; folders in float16, weights in float32. "
            "Copies: those that sentences and beams may make. "
            f"{shapes}\n",
            table(
                [
                    "",
                    "the model's weights",
                    "copies at most",
                    "growth at the peak, as the first model",
                    "as a further one",
                    "this growth / weights",
                    "",
                ],
                rows,
            ),
            f"Goal: below {MEMORY_GOAL}, as a further model; a first one also brings libraries along.\n",
        ]
    )


def importance(result: Result) -> str:
    """The time of measuring the importance of every head for one sentence."""
    whole, batch = result["all"], result["batch"]
    between = f"{whole['median']:.2f} s ({whole['low']:.2f}-{whole['high']:.2f})"
    met = goal_mark(whole["median"] <= IMPORTANCE_GOAL)
    rows = [
        [f"all {result['parts']} heads, layers and kinds", between, f"at most {IMPORTANCE_GOAL:g} s", met],
        ["the longest batch, after which others take their turn", f"{format_milliseconds(batch['median'])} ms", "", ""],
    ]
    return "\n".join(
        [
            "## What every head counts for\n",
            f"`{result['model']}`, {result['source_tokens']} tokens read and {result['target_tokens']} written: the "
            f"log probability of the answer without each of the {result['heads']} heads, without each layer and each "
            f"kind of attention, {result['at_once']} at once; medians of {result['repetitions']}, "
            f"{result['threads']} threads.\n",
            table(["", "measured", "goal", ""], rows),
        ]
    )


def training(result: Result) -> str:
    """Our training loop compared with those of tutorials."""
    names = {
        "plain": "tutorial: `nn.Transformer`, float32, 64 sentences as they come, padded",
        "buckets": "the same with batches of like length",
        "headlight": "**Headlight**, one process",
        "headlight-two": "**Headlight**, two processes of one thread",
    }
    speeds = {name: found["median"] for name, found in result["speeds"].items()}
    best = max(speed for name, speed in speeds.items() if name.startswith("headlight"))
    rows = [[words, f"{speeds[name]:,.0f}", f"{best / speeds[name]:.1f} ×"] for name, words in names.items()]
    goals = [
        [f"at least {goal:g} × {names[name]}", f"{best / speeds[name]:.1f} ×", goal_mark(best >= goal * speeds[name])]
        for name, goal in TRAINING_GOALS.items()
    ]
    return "\n".join(
        [
            "## Training\n",
            f"Random words, lengths mixed as in the text of our models; {result['shape']}. Each measurement is a "
            f"process of its own with {result['threads']} threads; medians of {result['repetitions']}.\n",
            table(["", "target tokens/s", "our best over it"], rows),
            table(["goal", "measured", ""], goals),
        ]
    )


def in_browser(result: Result) -> str:
    """The page: painted, sent, left behind, shared."""
    goals, growth, visitors = PAGE_GOALS, result["growth"], result["visitors"]
    timed = {
        "translate": "a click on Translate, 20 tokens, until the answer is painted",
        "switch_30": f"another head, {result['switch_30_tokens']} tokens, until painted",
        "switch_200": f"another head, {result['switch_200_tokens']} tokens, until painted",
    }
    cold = result["cold_start"]["median"]
    row = ["a cold process, until it has sent the first page", f"{cold:.1f} s", f"below {goals['cold_start']:.0f} s"]
    rows = [[*row, goal_mark(cold < goals["cold_start"])]]
    for name, words in timed.items():
        seconds, most = result[name]["median"], goals[name]
        rows.append([words, f"{1000 * seconds:.0f} ms", f"at most {1000 * most:.0f} ms", goal_mark(seconds <= most)])
    worst = max((each["bytes"] - 20_000) / each["weights"] for each in result["payload"]["answers"])
    rows.append(["bytes a weight, after 20 kB", f"{worst:.2f}", f"at most {goals['a_weight']}"])
    rows[-1].append(goal_mark(worst <= goals["a_weight"]))
    done = f"{growth['translations']} translations and {growth['switches']:,} switches"
    for name, words in (("heap", "the browser's heap"), ("server", "the server's memory")):
        row = [f"{words} after {done}", f"+{format_megabytes(growth[name])}", f"below +{format_megabytes(goals[name])}"]
        rows.append([*row, goal_mark(growth[name] < goals[name])])
    faster = result["plain"]["switch"]["median"] / result["switch_30"]["median"]
    row = [
        "switching, times as fast as one `gr.Plot` of 48 subplots",
        f"{faster:.0f} ×",
        f"at least {goals['plain']:g} ×",
    ]
    rows.append([*row, goal_mark(faster >= goals["plain"])])
    wrong = len(visitors["wrong"]) + visitors["expected"] - visitors["answers"]
    return "\n".join(
        [
            "## The page\n",
            "Chromium without a GPU on the same machine as the server; medians. Painted: after the next frame; another "
            "head is clicked at any moment between two frames.\n",
            table(["", "measured", "goal", ""], rows),
            f"{visitors['count']} visitors at once, {visitors['answers']} answers through `/translate`: {wrong} wrong "
            f"or missing; half within {visitors['p50']:.2f} s, 95% within {visitors['p95']:.2f} s.\n",
        ]
    )


def painting(result: Result) -> str:
    """How much later than the model an answer is painted."""
    rows = []
    for case in result["sentences"]:
        own, there, painted, beyond = (case[name]["median"] for name in ("model", "there", "painted", "beyond"))
        most = PAINT_GOALS.get(case["name"])
        goal = ["", ""] if most is None else [f"at most {format_milliseconds(most)}", goal_mark(beyond <= most)]
        tokens = f"{case['source_tokens']} read, {case['target_tokens']} written"
        rows.append([tokens, *map(format_milliseconds, (own, there, painted, beyond)), *goal])
    names = ["tokens", "the model's own ms", "until it is there", "until painted", "after the model", "goal", ""]
    return "\n".join(
        [
            "## Painted when the model is done\n",
            "From a click on Translate; Chromium without a GPU on the same machine as the server; milliseconds, "
            f"medians of {result['repetitions']} sentences each.\n",
            table(names, rows),
            *_stages(result["sentences"]),
        ]
    )


def _stages(cases: Sequence[Result]) -> list[str]:
    """The stages of the time between the model and the frame."""
    told = [case for case in cases if "stages" in case]
    if not told:
        return []
    rows = [
        [
            f"{case['source_tokens']} read",
            *map(format_milliseconds, case["stages"].values()),
            f"{case['bytes'] / 1000:.0f} kB",
        ]
        for case in told
    ]
    return [
        "Where the time after the model goes. Server: the check, tokens, letters, JSON; way: threads, the wire and "
        "all that views draw at once, what is left of the time until it is there; reading: JSON and letters become "
        "arrays; drawing: from the answer to the frame.\n",
        table(["tokens", "server", "way", "reading", "drawing", "answer"], rows),
    ]


def first_visit(result: Result) -> str:
    """A first visit compared with an empty Gradio page."""
    ours, empty, ratio, line = result["ours"]["median"], result["empty"]["median"], result["ratio"], result["line"]
    met = goal_mark(ratio["median"] <= VISIT_GOALS["ratio"])
    between = f"{ratio['median']:.2f} ({ratio['low']:.2f}-{ratio['high']:.2f})"
    few = goal_mark(result["requests"] <= VISIT_GOALS["requests"])
    rows = [
        ["until the first map is painted", f"{ours:.2f} s", "", ""],
        ["until Gradio's empty page is painted", f"{empty:.2f} s", "", ""],
        ["the one over the other, visit by visit", between, f"at most {VISIT_GOALS['ratio']:g}", met],
        ["requests, Gradio's own among them", f"{result['requests']}", f"at most {VISIT_GOALS['requests']}", few],
        ["that travels until all is there", format_megabytes(result["bytes"]), "", ""],
    ]
    return "\n".join(
        [
            "## A first visit\n",
            f"An empty cache, {line['latency']} ms and {line['speed']} Mbit/s; both pages in turns, "
            f"{ratio['pairs']} visits each, medians.\n",
            table(["", "measured", "goal", ""], rows),
        ]
    )


def live(result: Result) -> str:
    """Live typing: latency for typists and slowdown of full requests."""
    painted, answered, ratio = result["painted"], result["answered"], result["ratio"]
    rows = [
        ["from a keystroke until it is painted", _both(painted), "", ""],
        ["from a keystroke until its answer has arrived", _both(answered), "", ""],
        ["a full answer, nobody typing", f"{result['alone']['median']:.2f} s", "", ""],
        ["a full answer, all typing", f"{result['among']['median']:.2f} s", "", ""],
        ["the one over the other", f"{ratio:.2f}", f"at most {LIVE_GOAL:g}", goal_mark(ratio <= LIVE_GOAL)],
        ["cores that the server kept busy", f"{result['load']:.2f}", "", ""],
        ["the server's memory", format_megabytes(result["memory"]), "", ""],
    ]
    counts = f"{result['answers']} live answers, {result['busy']} times others came first, {result['lost']} lost"
    return "\n".join(
        [
            "## As you type\n",
            f"{result['typists']} visitors type {result['keys']} keys a second for {result['seconds']:.0f} s, one of "
            "them in a browser on the same machine; a further visitor asks for one full answer after another. Of "
            "keystrokes the median, and below what 95% of them are.\n",
            table(["", "measured", "goal", ""], rows),
            f"{counts}.\n",
        ]
    )


def classroom(result: Result) -> str:
    """A class behind one address, and who else is there."""
    alone = result["alone"]["median"]
    rows = [
        [
            f"{each['pupils']} pupils × {each['sentences']}",
            f"{each['hostile']['requests'] or ''}",
            f"{each['answered']} of {each['pupils'] * each['sentences']}",
            str(each["refused"]),
            f"{each['again']}, {goal_mark(each['again'] == 0)}",
            f"{each['seconds']:.1f}",
            *(f"{each[who][share] / alone:.1f}" for who in ("waits", "third") for share in ("p50", "p95")),
        ]
        for each in result["lessons"]
    ]
    hostile = ", ".join(
        f"{each['hostile']['answered']} and {each['hostile']['refused']}"
        for each in result["lessons"]
        if each["hostile"]["requests"]
    )
    return "\n".join(
        [
            "## A class at one address\n",
            "All pupils press Translate together, each with sentences of their own, and for the next one as soon as "
            "the last is answered; another address has sent hundreds of requests just before. Refused: the page asks "
            "again by itself. The goal: nobody is told to press again. Waiting times, pauses counted, are divided by "
            f"the {alone:.2f} s of one visitor alone; *other*: a visitor of a third address, who asks all the time.\n",
            table(
                [
                    "", "hostile", "answered", "refused", "told to press again", "all done after, s",
                    "p50 ÷ alone", "p95 ÷ alone", "other, p50", "other, p95",
                ],
                rows,
            ),
            f"Of the hostile requests, so many were answered and refused while the class worked: {hostile}.\n",
        ]
    )  # fmt: skip


def watched(result: Result) -> str:
    """Answers during a training run."""
    ratio = result["ratio"]
    rows = [
        ["an answer, nothing trains", f"{format_milliseconds(result['alone']['median'])} ms", "", ""],
        ["an answer beside the largest runs", f"{format_milliseconds(result['beside']['median'])} ms", "", ""],
        [
            f"the one over the other, {ratio['pairs']} pairs",
            f"{ratio['median']:.2f} ({ratio['low']:.2f}-{ratio['high']:.2f})",
            f"at most {WATCHED_GOAL:g}",
            goal_mark(ratio["median"] <= WATCHED_GOAL),
        ],
        [
            "a whole default run, its process started",
            f"{result['whole']['median']:.1f} s",
            f"at most {RUN_GOAL:g} s",
            goal_mark(result["whole"]["median"] <= RUN_GOAL),
        ],
    ]
    return "\n".join(
        [
            "## A training run beside answers\n",
            "A visitor watches two models train side by side, in a process of the lowest priority with one thread; "
            "another one asks for answers of de-en. Medians, pair by pair.\n",
            table(["", "measured", "goal", ""], rows),
        ]
    )


def scale(result: Result) -> str:
    """A cluster of one machine."""
    alone = result["here"]["rate"]
    kinds = [("in one process, without a cluster", result["here"])]
    kinds += [(f"replicas: {count}", each) for count, each in result["replicas"].items()]
    asked = [
        [name, f"{each['rate']:.1f}", f"{each['rate'] / alone:.2f}", f"{each['p50']:.2f}", f"{each['p95']:.2f}"]
        for name, each in kinds
    ]
    lost = [
        [
            f"{name} of two",
            *(str(each[key]) for key in ("answers", "wrong", "lost", "again")),
            f"{each['longest']:.1f}",
            f"{each['replaced']:.1f}",
        ]
        for name, each in (("a replica", result["killed_replica"]), ("a page's process", result["killed_page"]))
    ]
    sleep = result["sleep"]
    workers = [
        [count, f"{each['rate']:.1f}", f"{each['rate'] * sleep / int(count):.2f}", f"{each['p95']:.2f}"]
        for count, each in result["workers"].items()
    ]
    page = result["killed_page"]
    return "\n".join(
        [
            "## On a cluster\n",
            f"{result['callers']} callers ask de-en for one sentence, with a beam of four and no cache, "
            f"{result['seconds']:g} s each; callers, pages, Ray and replicas share the cores of this one machine.\n",
            table(["", "answers a second", "÷ one process", "median, s", "p95, s"], asked),
            "Killed with SIGKILL while all ask; *again* is what the callers asked the other page for once more.\n",
            table(["", "answers", "wrong", "lost", "again", "longest, s", "whole again after, s"], lost),
            f"A page's process that asks a cluster takes {format_megabytes(page['memory'])}, one that computes by "
            f"itself {format_megabytes(page['memory_here'])} after its first answer.\n",
            f"Ray Serve's own proxy and scheduler with replicas that sleep {sleep:g} s and give a kept answer, as many "
            "callers as replicas; 1.00 would be no cost at all.\n",
            table(["replicas", "answers a second", "of what their speed allows", "p95, s"], workers),
            _estimated_capacity(result),
        ]
    )


SECONDS_BETWEEN_REQUESTS = 30  # seconds from one answer that a visitor asks for to the next


def _estimated_capacity(result: Result) -> str:
    """Capacity estimates, extrapolated from the measurements (not tested)."""
    replica = result["replicas"]["1"]["rate"]
    proxy = max(each["rate"] for each in result["workers"].values())
    rows = []
    for visitors in (10, 1_000, 100_000):
        asked = visitors / SECONDS_BETWEEN_REQUESTS
        rows.append([f"{visitors:,}", f"{asked:,.1f}", f"{ceil(asked / replica):,}", f"{ceil(asked / proxy):,}"])
    return "\n".join(
        [
            f"Worked out from the tables above, not tried: visitors who ask every {SECONDS_BETWEEN_REQUESTS} s for an "
            f"answer that is in no cache; replicas of {replica:.1f} answers a second; a proxy of {proxy:.1f}, the most "
            f"that was seen of the sleeping replicas, which shared the cores with it.\n",
            table(["visitors", "answers a second", "replicas", "proxies"], rows),
        ]
    )


def _both(times: Result) -> str:
    return f"{times['p50']:.2f} s, {times['p95']:.2f} s"


SECTIONS: dict[str, Callable[[Result], str]] = {
    "decode": on_cpu,
    "probes": probes,
    "lines": lines,
    "memory": memory,
    "importance": importance,
    "training": training,
    "gpu": on_gpu,
    "page": in_browser,
    "paint": painting,
    "visit": first_visit,
    "live": live,
    "class": classroom,
    "watched": watched,
    "scale": scale,
}


# ------------------------------------------------------------ cells


def _median(case: Result, row: str) -> str:
    return format_milliseconds(case["seconds"][row]["median"]) if row in case["seconds"] else ""


def _goal(at_least: float | None, at_most: float | None) -> str:
    return f"at least {at_least:g} × as fast" if at_least is not None else f"at most {at_most:g} of its time"


def _ratio(ours: float, peers: float, *, slower: bool) -> str:
    return f"{ours / peers:.2f}" if slower else f"{peers / ours:.1f} ×"


def _pair(name: str, compared: Result, goal: float | None) -> list[str]:
    ratio, seconds = compared["ratio"], compared["seconds"]
    return [
        name,
        format_milliseconds(seconds["ours"]),
        format_milliseconds(seconds["others"]),
        f"{ratio['median']:.3f}",
        f"{ratio['low']:.3f}-{ratio['high']:.3f}",
        f"{goal}" if goal else "",
        goal_mark(ratio["median"] <= goal) if goal else "",
    ]


def _agreement(cases: Sequence[Result]) -> str:
    shares: dict[str, list[float]] = {}
    for case in cases:
        for row, share in case["same_tokens"].items():
            shares.setdefault(row, []).append(share)
    if not shares:
        return ""
    words = ", ".join(f"{row} {min(own):.0%}" for row, own in shares.items())
    return f"Tokens that are those of {REFERENCE}, in the worst case: {words}.\n"
