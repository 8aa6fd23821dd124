"""The default target language of a multilingual model."""

from __future__ import annotations

from collections.abc import Sequence

# Widely known languages, the likeliest target first, as two-letter and three-letter codes.
PAIRS = """
en-eng fr-fra de-deu es-spa it-ita pt-por nl-nld ru-rus zh-zho ja-jpn ko-kor ar-ara pl-pol uk-ukr tr-tur
sv-swe da-dan no-nor fi-fin cs-ces sk-slk hu-hun ro-ron bg-bul el-ell he-heb hi-hin bn-ben ur-urd fa-fas
id-ind ms-msa vi-vie th-tha sw-swa am-amh ha-hau yo-yor zu-zul af-afr sq-sqi hy-hye ka-kat az-aze kk-kaz
uz-uzb mn-mon hr-hrv sr-srp sl-slv mk-mkd lt-lit lv-lav et-est is-isl ga-gle cy-cym eu-eus ca-cat gl-glg
la-lat eo-epo mt-mlt ta-tam te-tel ml-mal kn-kan mr-mar gu-guj pa-pan ne-nep si-sin my-mya km-khm lo-lao
tl-tgl jv-jav mg-mlg so-som rw-kin be-bel
"""
TARGET_BY_SOURCE: dict[str, str] = dict(pair.split("-") for pair in PAIRS.split())
# Aliases: Mandarin, Bokmål, Iranian Persian, standard Malay and Arabic, and bibliographic codes (ISO 639-2/B).
CODE_ALIASES = {"cmn": "zho", "nob": "nor", "nb": "nor", "pes": "fas", "zsm": "msa", "arb": "ara", "jap": "jpn",
        "fre": "fra", "ger": "deu", "dut": "nld", "chi": "zho", "rum": "ron", "cze": "ces", "gre": "ell",
        "ice": "isl"}  # fmt: skip


def default_target(codes: Sequence[str], *, preferred: str = "", source: str = "") -> str:
    """Return the `preferred` code, else a common language other than `source`, else any code, or "" without codes."""
    targets = [code for code in codes if _three_letters(code) != _three_letters(source)] or list(codes)
    for candidate in (preferred, *TARGET_BY_SOURCE):
        matches = [code for code in targets if candidate and _three_letters(code) == _three_letters(candidate)]
        if matches:
            # An exact match is best, then a code without a script.
            return min(matches, key=lambda code: (code != candidate, "_" in code))
    return targets[0] if targets else ""


def _three_letters(code: str) -> str:
    """Return the language without script, common ones as three letters: "de" → "deu", "cmn_Hans" → "zho"."""
    language = code.replace("-", "_").partition("_")[0].lower()
    return CODE_ALIASES.get(language, TARGET_BY_SOURCE.get(language, language))
