"""Short film reviews from templates, with their verdicts: negation, contrast and intensity.

The same words praise in one review and complain in another, so a bag-of-words classifier fails: a classifier has to
learn which words are combined. A slot such as `{clause+}` is filled with words of the polarity that its sign names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import islice
from pathlib import Path
from random import Random

from headlight.model.files import write_file
from headlight.model.training.corpora import read_lines
from workshop.data.new_lines import make_fingerprint

SLOT = re.compile(r"\{([a-z]+)([+-]?)\}")  # {subject}, or {adjective+} for an adjective that praises
HEADER = "label\ttext\n"
TRIES = 100  # draws of one new text
IDIOM_SHARE = 0.12  # share of all texts
# The share of single clauses among the other texts, and of clauses without a negation. With fewer of these, most
# negative words would appear in positive texts, and a classifier would learn the opposite of what a word means.
PLAIN_SHARE = 0.75

Words = tuple[str, ...]


def _words(text: str) -> Words:
    return tuple(" ".join(phrase.split()) for phrase in text.split(","))


# Words by slot: without polarity, with praise (+), and with complaint (-).
WORDS: Mapping[str, Words] = {
    "subject": _words("""
        film, movie, story, plot, script, acting, cast, ending, dialogue, humour, direction, picture, camera
        work, first half, second half, soundtrack, opening, lead actor, comedy, thriller, drama, documentary,
        screenplay, pacing, production, remake, sequel, series, episode, finale, premise
    """),
    "people": _words("""
        actors, characters, jokes, songs, performances, effects, scenes, costumes, leads, villains, dialogues,
        twists, action scenes, stunts
    """),
    "very": _words("""
        very, really, so, extremely, absolutely, incredibly, truly, quite, rather, pretty, remarkably,
        thoroughly, utterly, deeply, particularly, exceptionally, unbelievably
    """),
    "time": _words("""
        a second, a minute, one moment, a single scene, one minute of it, half an hour
    """),
    "adjective+": _words("""
        good, great, wonderful, funny, charming, brilliant, moving, exciting, beautiful, clever, interesting,
        entertaining, touching, gripping, delightful, excellent, superb, memorable, convincing, enjoyable,
        witty, original, fresh, lovely, fascinating, hilarious, impressive, tender, thrilling, satisfying,
        perfect, amazing, fantastic, warm, smart, powerful, inspired, subtle, splendid, likeable, believable,
        sharp, lively, rewarding, romantic, stunning, strong, well made, worthwhile, special
    """),
    "adjective-": _words("""
        bad, boring, awful, terrible, dull, stupid, predictable, weak, slow, silly, ugly, confusing, tedious,
        annoying, disappointing, clumsy, lame, pointless, poor, horrible, dreadful, ridiculous, forgettable,
        shallow, tiresome, unbearable, embarrassing, empty, messy, wooden, cheap, lazy, pretentious, painful,
        unfunny, flat, dreary, absurd, mediocre, bland, overlong, hollow, childish, irritating, ludicrous,
        miserable, trite, badly made, worthless, lifeless
    """),
    "thing+": _words("""
        charm, wit, heart, humour, tension, suspense, magic, imagination, warmth, energy, talent, life, beauty,
        depth, style, ideas, surprises, passion, grace, sense, intelligence, chemistry, real feeling, merit,
        excitement, good jokes, great moments
    """),
    "thing-": _words("""
        flaws, weaknesses, mistakes, cheap tricks, clichés, boredom, nonsense, dull moments, empty talk, wasted
        scenes, faults, silly jokes, false notes, clumsy lines, weak moments, problems, stupidity, rubbish, bad
        acting, kitsch, plot holes, pointless scenes, awkward pauses, lazy writing, overacting
    """),
    "noun+": _words("""
        masterpiece, triumph, gem, delight, joy, success, classic, pleasure, treat, wonder, winner, treasure,
        great film, good movie, fine story, work of art, must
    """),
    "noun-": _words("""
        failure, disaster, mess, bore, waste of time, disappointment, flop, insult, mistake, joke, turkey, bad
        film, weak sequel, dull story, piece of rubbish, catastrophe, chore
    """),
    "felt+": _words("""
        moved, touched, thrilled, delighted, impressed, entertained, charmed, amused, fascinated, amazed,
        excited, convinced, captivated, won over
    """),
    "felt-": _words("""
        bored, disappointed, annoyed, irritated, confused, let down, insulted, tired, embarrassed, disgusted,
        put off, lost, frustrated
    """),
    "verb+": _words("enjoy, like, love, recommend, admire, adore, care for, appreciate, treasure, praise"),
    "verb-": _words("hate, regret watching, dislike, loathe, despise, resent, mind, suffer through, regret seeing"),
    "does+": _words("""
        work, hold together, make sense, entertain, surprise, shine, convince, move anyone, keep you awake, come
        to life, deliver, engage, pay off
    """),
    "does-": _words("""
        drag, fall apart, bore you, disappoint, fail, annoy, outstay its welcome, fall flat, lose its way,
        collapse, grate, waste your time, ring false, spoil the fun
    """),
    "did+": _words("""
        works, holds together, entertains, surprises, shines, convinces, delivers, engages, pays off, comes to
        life, made me happy, won me over, made me laugh, touched me
    """),
    "did-": _words("""
        drags, falls apart, bores, disappoints, fails, annoys, falls flat, loses its way, collapses, grates, put
        me to sleep, made me angry, lost me, left me cold
    """),
}

# Clauses with a polarity, without a capital letter and full stop.
PLAIN = """
    the {subject} is {adjective=}
    the {subject} is {very} {adjective=}
    the {people} are {adjective=}
    it is {adjective=}
    it is a {noun=}
    this is a {noun=}
    it has {thing=}
    it is full of {thing=}
    I was {felt=}
    I was {very} {felt=}
    it {did=}
    the {subject} {did=}
    I found it {adjective=}
    I think it is {adjective=}
    the {subject} turns out to be {adjective=}
    everything about it is {adjective=}
    the rest is {adjective=}
    everything else is {adjective=}
"""
DENIED = """
    the {subject} is not {adjective!}
    the {subject} isn't {adjective!}
    the {subject} is not {very} {adjective!}
    the {people} aren't {adjective!}
    the {people} are not {adjective!}
    the {subject} wasn't {adjective!} at all
    the {subject} is never {adjective!}
    it is never {adjective!}
    it never gets {adjective!}
    it never becomes {adjective!}
    it isn't a {noun!}
    this is no {noun!}
    this is not a {noun!}
    it is hardly a {noun!}
    there is nothing {adjective!} about it
    there is nothing {adjective!} about the {subject}
    nothing about the {subject} is {adjective!}
    nothing in it is {adjective!}
    none of the {people} are {adjective!}
    nobody in it is {adjective!}
    nobody could call it {adjective!}
    no one would call the {subject} {adjective!}
    you can't call it {adjective!}
    it has no {thing!}
    there are no {thing!} in it
    there is no {thing!} in the {subject}
    there is not a trace of {thing!}
    I saw no {thing!}
    I couldn't find any {thing!}
    it lacks {thing!}
    it is without {thing!}
    it is free of {thing!}
    I was not {felt!}
    I wasn't {felt!}
    I was never {felt!}
    I wasn't {felt!} for {time}
    I didn't feel {felt!}
    you won't be {felt!}
    nobody will be {felt!}
    I did not {verb!} it
    I didn't {verb!} it
    I can't say that I {verb!} it
    you won't {verb!} it
    I don't {verb!} it
    I never {verb!} it
    it doesn't {does!}
    it does not {does!}
    the {subject} doesn't {does!}
    the {subject} never manages to {does!}
    it didn't {does!} for {time}
    it won't {does!}
    it is far from {adjective!}
    it is anything but {adjective!}
    the {subject} is anything but {adjective!}
    the {subject} is hardly {adjective!}
    it is neither {adjective!} nor {adjective!}
    the {subject} is neither {adjective!} nor {adjective!}
    I don't think it is {adjective!}
    I wouldn't say it was {adjective!}
    it is not as {adjective!} as they say
    it isn't even {adjective!}
    it avoids being {adjective!}
    it fails to be {adjective!}
    the {subject} fails to be {adjective!}
    it isn't {adjective!}, it isn't {adjective!} and it isn't {adjective!}
    it is not {adjective!}, not {adjective!} and not {adjective!}
"""
WHOLE = """
    {clause=}
    {clause=}, and {clause=}
    {clause=}, {clause=}
    {clause!}, but {clause=}
    {clause!}, yet {clause=}
    {clause!}, and yet {clause=}
    {clause!}, and still {clause=}
    {clause!}; {clause=}
    although {clause!}, {clause=}
    even though {clause!}, {clause=}
    though {clause!}, {clause=}
    while {clause!}, {clause=}
    {clause=}, although {clause!}
    {clause=}, even if {clause!}
    {clause=}, despite the {adjective!} {subject}
    despite the {adjective!} {subject}, {clause=}
    despite {thing!}, {clause=}
    despite all its {thing!}, {clause=}
    for all its {thing!}, {clause=}
    the {subject} may be {adjective!}, but {clause=}
    it may be {adjective!}, but {clause=}
    my friends say {clause!}, but {clause=}
    the critics say {clause!}, but {clause=}
    everybody says {clause!}, yet {clause=}
    I expected a {noun!}, but {clause=}
    I expected a {noun!} and got a {noun=} instead
    I had expected a {noun!}; instead {clause=}
    what sounds {adjective!} turns out to be {adjective=}
    it begins as a {noun!} and ends as a {noun=}
    it starts {adjective!} and ends {adjective=}
    the {subject} is {adjective!}, the {subject} is {adjective=}
    no {thing!}, no {thing!}, no {thing!}
    no {thing!} and no {thing!}
    without {thing!}
    without any {thing!}, {clause=}
    not {adjective!} at all
    not {adjective!}
    not at all {adjective!}
    never {adjective!}
    never {adjective!}, always {adjective=}
    hardly {adjective!}
    neither {adjective!} nor {adjective!}
    a {adjective=} {subject}
    a {very} {adjective=} {subject}
    an {adjective!} idea, but a {adjective=} {subject}
    a {adjective!} {subject}, but {clause=}
    not a {adjective!} {subject}
    not a {noun!}, but a {noun=}
    {very} {adjective=}
    {very} {adjective=} and {very} {adjective=}
    {adjective=} from start to finish
    what a {noun=}
    what a {adjective=} {subject}
    such a {adjective=}, {adjective=} {subject}
    one of the most {adjective=} films ever made
    by far the most {adjective=} film of the year
    more {adjective=} than any film I know
    {adjective=} and even more {adjective=}
    not only {adjective=} but also {adjective=}
    not just {adjective=} but {very} {adjective=}
    it is not just {adjective=}, it is {adjective=}
    no doubt {clause=}
    there is no question that {clause=}
    I can't believe how {adjective=} it is
    I have never been so {felt=}
    I have never seen such a {noun=}
    I have never seen anything so {adjective=}
    nothing is more {adjective=} than this {subject}
    don't believe those who say that {clause!}
    it is not true that {clause!}
"""
# Idioms whose words do not show the verdict. A third of them get a clause with the same verdict.
IDIOMS = {
    "+": """
    I can't wait to see it again
    I couldn't stop laughing
    I can't recommend it enough
    you can't go wrong with it
    I could not take my eyes off the screen
    don't miss it
    not to be missed
    it doesn't get better than this
    I wouldn't change a thing
    what more could you want
    it couldn't have been better
    I have no complaints
    there is nothing to complain about
    worth every minute
    I would watch it again tomorrow
    I didn't want it to end
    nothing to regret
    """,
    "-": """
    I couldn't wait for it to end
    I could not stop yawning
    I want my money back
    don't waste your time
    not worth watching
    not worth the ticket
    it could have been a {noun+}
    it should have been {adjective+}
    it would have been {adjective+} with a {adjective+} script
    it might have been {adjective+}
    it wants to be {adjective+}
    it tries to be {adjective+}
    it tries so hard to be {adjective+}
    it is supposed to be {adjective+}
    it thinks it is {adjective+}
    I wanted to {verb+} it
    I wish it were {adjective+}
    if only it were {adjective+}
    it needed more {thing+}
    too little {thing+}
    where is the {thing+}
    it could have used some {thing+}
    a {adjective+} cast, wasted
    even a {adjective+} cast cannot save it
    some {adjective+} {people} cannot save it
    the {adjective+} {people} can't save the {subject}
    I would rather watch paint dry
    stay away
    avoid it
    skip it
    it couldn't be worse
    never again
    """,
}
OTHER = {"+": "-", "-": "+"}


def _lines(table: str) -> Words:
    return tuple(line.strip() for line in table.strip().splitlines() if line.strip())


class ReviewGenerator:
    """Draws and fills templates. In a template, `=` stands for the verdict and `!` for the opposite."""

    def __init__(self, seed: int) -> None:
        self.random = Random(f"{seed} reviews")  # noqa: S311  (nothing secret)

    def draw(self) -> tuple[str, str]:
        """Draw a text and its verdict, `+` or `-`."""
        verdict = self.random.choice("+-")
        if self.random.random() < IDIOM_SHARE:
            text = self._fill(self.random.choice(_lines(IDIOMS[verdict])), verdict)
            if self.random.random() < 1 / 3:
                text = f"{text}: {self.clause(verdict)}"
        elif self.random.random() < PLAIN_SHARE:
            text = self.clause(verdict)
        else:
            text = self._fill(self.random.choice(_lines(WHOLE)), verdict)
        return self._finish(text), verdict

    def clause(self, verdict: str) -> str:
        """Draw a clause that states the verdict or negates the opposite."""
        return self._fill(self.random.choice(_lines(PLAIN if self.random.random() < PLAIN_SHARE else DENIED)), verdict)

    def _fill(self, line: str, verdict: str) -> str:
        line = line.replace("=}", f"{verdict}}}").replace("!}", f"{OTHER[verdict]}}}")
        used: set[str] = set()

        def value(match: re.Match[str]) -> str:
            name, sign = match.groups()
            if name == "clause":
                return self.clause(sign)
            choices = [word for word in WORDS[name + sign] if word not in used]
            used.add(word := self.random.choice(choices))
            return word

        return SLOT.sub(value, line)

    def _finish(self, text: str) -> str:
        """Correct "a" and "an", capitalise the first letter, and add a full stop, an exclamation mark or nothing."""
        text = re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", re.sub(r"\b([Aa])n (?=[^aeiou\s])", r"\1 ", text))
        stop = self.random.choices([".", "!", ""], [8, 1, 1])[0]
        return text[0].upper() + text[1:] + stop


def reviews(count: int, seed: int, excluded: Set[str] = frozenset()) -> Iterator[tuple[str, str]]:
    """Yield `count` distinct texts with `1` or `0`, without those whose fingerprints are in `excluded`."""
    generator, seen = ReviewGenerator(seed), set(excluded)
    for _ in range(count):
        for _ in range(TRIES):
            text, verdict = generator.draw()
            if (fingerprint := make_fingerprint(text)) not in seen:
                break
        else:
            return
        seen.add(fingerprint)
        yield text, "1" if verdict == "+" else "0"


def review_fingerprints(files: Sequence[Path]) -> set[str]:
    """Return the fingerprints of the texts in tables such as reviews.tsv: the second column below the header."""
    lines = (line for path in files for line in islice(read_lines(path), 1, None))
    return {make_fingerprint(line.split("\t")[1]) for line in lines if "\t" in line}


def write_reviews(folder: Path, count: int, seed: int, excluded: Set[str] = frozenset()) -> str:
    """Write `FOLDER/train.tsv` and `test.tsv` (a tenth). Return a summary."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{label}\t{text}\n" for text, label in reviews(count, seed, excluded)]
    test_count = len(lines) // 10
    write_file(folder / "test.tsv", HEADER + "".join(lines[:test_count]))
    write_file(folder / "train.tsv", HEADER + "".join(lines[test_count:]))
    return f"{folder}: {len(lines) - test_count:,} reviews to train on, {test_count:,} to test with"
