"""What the page says when something cannot be done: the name of a phrase, its values, and the field beside it.

A phrase is named, not written out where the fault is found, so that it can be said in each language of the page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from headlight.model.errors import CheckpointError, ConfigError, DeviceError, ModelError, RequestError, TokenizerError

LONGEST_LINE = 500  # characters

Value = str | int | float

# Every phrase that an error may use, in English; `{names}` stand for values.
ERROR_WORDS: dict[str, str] = {
    # what is asked
    "blank_text": "There is nothing to see in this text yet: type a sentence first.",
    "blank_words": "{name} holds no word: write some, or leave it out.",
    "too_long": "{name} has {given} characters, but at most {limit} are read here: shorten it, or split it.",
    "too_many_tokens": "{name} has {given} tokens, but at most {limit} are read here: shorten it, or split it.",
    "half_character": "{name} holds half a character at place {place}: type it again, or copy it from elsewhere.",
    "not_text": "{name} must be text, but {given} was given: write it in quotation marks.",
    "not_words": "{name} must be text or a list of token ids, but {given} was given: write text, or leave it out.",
    "not_whole": "{name} must be a whole number from {low} to {high}, but {given} was given: choose one.",
    "not_number": "{name} must be a number from {low} to {high}, but {given} was given: choose one.",
    "not_switch": "{name} must be true or false, but {given} was given: choose one.",
    "not_choice": "{name} must be one of {choices}, but {given} was given: choose one.",
    "not_names": "Names with values are needed, but {given} was given: write an object such as {example}.",
    "missing": "{name} is missing: add it.",
    "unknown_name": "There is nothing called {given} here. Known are: {choices}.",
    "too_many_values": "At most {limit} values are taken ({choices}), but {given} were given: leave some out.",
    "too_few_values": "{limit} values are needed here, but {given} were given: reload the page.",
    "wrong_field": "{name} is missing, or is not what it must be: look at the page's list of endpoints.",
    "top_p_zero": "top_p 0 allows no word at all: choose a number above 0.",
    "sampling_with_beam": "Sampling and beam search exclude each other: set beam_size to 1, or temperature to 0.",
    "target_and_prefix": "A whole translation and a beginning cannot both be given: drop one.",
    "prefix_too_long": "The beginning has {given} tokens, but at most {limit} may be written: shorten it.",
    "wrong_ids": "{name} holds ids that this model cannot write so: take them from one of its translations.",
    # the models
    "unknown_model": "There is no model {given} here. Choose one of: {choices}.",
    "no_model": "There is no model here to do this. Put a model's folder into the models' folder.",
    "model_cannot_load": "The model {given} cannot be loaded. Choose another one, or download it again.",
    "model_not_here": "{given} is on the Hub and not here yet: {megabytes} MB must be fetched first.",
    "other_family": "{given} is of the family {family}, which cannot be read here. Known are: {choices}.",
    "no_languages": "This model has no choice of languages, but {given} was given: leave {name} empty.",
    "model_not_allowed": "The model {given} cannot be asked for here. Choose one of: {choices}.",
    # the Hub
    "hub_bad_id": "{given} is no id of a model on the Hub: write owner/name, such as Helsinki-NLP/opus-mt-de-en.",
    "hub_offline": (
        "{host} cannot be reached, and {repository} is not here. Go online, or fetch its files on another computer "
        "({files}) and put them into a folder of their own in the models' folder (assets/models)."
    ),
    "hub_not_found": "{host} knows no model {repository} with revision {revision}, or it is private: check its name.",
    "hub_gated": (
        "{repository} is not for everybody: accept its licence on its page on {host}, and start the app with HF_TOKEN "
        "set to a token of yours."
    ),
    "hub_busy": "{host} does not answer about {repository} as it should (status {status}): try again later.",
    "hub_astray": (
        "The way to {repository} leads in a circle, or to an address that cannot be asked ({host} was asked): whoever "
        "runs this page should check its network."
    ),
    "hub_web_page": (
        "In place of {file} of {repository} came a web page: the network may want a login first. Nothing of it was "
        "kept: try again later."
    ),
    "hub_odd_answer": "What {host} says about {repository} makes no sense: try again later.",
    "hub_not_a_model": "{repository} holds no {missing}, so there is no model that can be read: choose another one.",
    "hub_too_large": (
        "{repository} is {megabytes} MB large, but at most {limit} MB may be fetched here: choose a smaller one."
    ),
    "hub_bad_limit": "HEADLIGHT_MAX_DOWNLOAD_MB is {given}, but must be a whole number: change or unset it.",
    "hub_no_room": "{repository} needs {megabytes} MB, but the disk has {free} MB left: make room.",
    "hub_not_writable": "The folder for models of the Hub cannot be written: start the app with another HF_HOME.",
    "hub_broken_off": (
        "The connection broke off after {done} of {bytes} bytes of {file}. What has come is kept: ask again to go on."
    ),
    "hub_wrong_file": "{file} of {repository} is not what its name says and was thrown away: choose another model.",
    "hub_refused": "{repository} was not fetched: nobody agreed to its {megabytes} MB.",
    "one_download": "A download for you is on its way already: wait until it is here, or stop it.",
    "hub_full": (
        "{repository} needs {megabytes} MB, but models of the Hub may take {limit} MB here, and the others are in use: "
        "try again later, or choose a smaller one."
    ),
    "hub_stopped": "The download of {repository} was stopped. What has come is kept: ask again to go on.",
    # the device
    "no_memory": "The device has no memory left for this: try a shorter sentence or a smaller beam.",
    "model_says": "{message}",
    # the door
    "too_large": "The request is larger than {limit} kB: send less at once.",
    "not_json": "The request is not JSON: check its quotation marks, brackets and numbers.",
    "not_data": "The request needs a list of values called data: write {example}.",
    "too_deep": "Lists and objects lie too deep in each other: send plain values.",
    "no_files": "No file is taken here: send text.",
    "unknown_endpoint": "There is nothing at this address. Known are: {choices}.",
    "nothing_here": "There is nothing at this address.",
    "no_answer": "There is no answer here: it was fetched already, or never asked for. Ask again.",
    "line_full": "Too many are waiting: {before} are before you. Try again in a minute.",
    "leaving": "The server is about to stop, and begins nothing new. Try again in a minute.",
    "answer_too_large": (
        "The file would be {given} MB large, but at most {limit} MB are sent: choose NPZ, or less text."
    ),
    "our_fault": "Something went wrong on our side. Try again, or try another sentence.",
}


class PageError(ModelError):
    """Something that cannot be done, as the name of a phrase: `str()` says it in English."""

    def __init__(self, field: str, word: str, values: Mapping[str, Value] | None = None) -> None:
        self.field = field
        self.word = word
        self.values: Mapping[str, Value] = MappingProxyType(dict(values or {}))
        super().__init__(ERROR_WORDS[word].format_map(self.values))

    def __reduce__(self) -> tuple[Any, ...]:
        return PageError, (self.field, self.word, dict(self.values))  # a borrowed GPU is another process

    def as_json(self) -> dict[str, Any]:
        """What a program is told. Who expects FastAPI's form finds the sentence under `detail`."""
        said = str(self)
        return {"error": said, "detail": said, "field": self.field, "word": self.word, "values": dict(self.values)}


def logged(said: object) -> str:
    """Whatever strangers may have written, as part of one line of a log: what is not plain ASCII is escaped."""
    return ascii(str(said)[:LONGEST_LINE])[1:-1]


def shown(given: Any) -> str:
    """A value as an error may repeat it: short, on one line, and nothing in it that cannot be sent or printed."""
    if isinstance(given, str):
        text = '"' + given[:40] + ('"' if len(given) <= 40 else "…")
    elif isinstance(given, int | float) and not isinstance(given, bool):
        # Python refuses to print a whole number of thousands of digits.
        text = repr(given) if isinstance(given, float) or abs(given) < 10**18 else "a huge number"
    elif given is None or isinstance(given, bool):
        text = json.dumps(given)
    else:
        text = "an object" if isinstance(given, dict) else "a list" if isinstance(given, list | tuple) else "no value"
    return "".join(letter if letter.isprintable() else "�" for letter in text)


# What the model floor says → the phrase that says it here, with the values of the pattern's groups. A test causes each.
_SAID = {
    "blank_text": re.compile(r"There is no text yet"),
    "blank_words": re.compile(r"The (?P<name>target|prefix) has no word"),
    "half_character": re.compile(r"half a character at place (?P<place>\d+)"),
    "too_many_tokens": re.compile(r"The (?P<name>\w+) has (?P<given>\d+) tokens, but this model .* (?P<limit>\d+)\. "),
    "prefix_too_long": re.compile(r"The prefix has (?P<given>\d+) tokens, but at most (?P<limit>\d+) may be written"),
    "wrong_ids": re.compile(r"(?P<name>target|prefix) must (be text, or token ids|have a token)"),
    "sampling_with_beam": re.compile(r"Sampling and beam search exclude"),
    "target_and_prefix": re.compile(r"A whole translation and a beginning"),
    "top_p_zero": re.compile(r"top_p is 0,"),
}


def page_error(error: ModelError, *, model: str = "") -> PageError:
    """Any error of the model floor as one that the page can say; no path of ours is in it."""
    if isinstance(error, PageError):
        return error
    if isinstance(error, DeviceError):
        return PageError("text", "no_memory")
    if isinstance(error, CheckpointError | ConfigError | TokenizerError):
        return PageError("model", "model_cannot_load", {"given": shown(model)})
    field = error.field if isinstance(error, RequestError) else "text"
    for word, pattern in _SAID.items():
        if match := pattern.search(str(error)):
            found = {name: int(said) if said.isdecimal() else said for name, said in match.groupdict().items()}
            return PageError(field, word, {"name": field} | found)
    return PageError(field, "model_says", {"message": str(error)})
