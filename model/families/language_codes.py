"""The default target language of a model with many."""

from __future__ import annotations

from collections.abc import Sequence

# Languages that many can judge, the likeliest to be meant first, by both codes that makers of models use.
PAIRS = """
en-eng fr-fra de-deu es-spa it-ita pt-por nl-nld ru-rus zh-zho ja-jpn ko-kor ar-ara pl-pol uk-ukr tr-tur
sv-swe da-dan no-nor fi-fin cs-ces sk-slk hu-hun ro-ron bg-bul el-ell he-heb hi-hin bn-ben ur-urd fa-fas
id-ind ms-msa vi-vie th-tha sw-swa am-amh ha-hau yo-yor zu-zul af-afr sq-sqi hy-hye ka-kat az-aze kk-kaz
uz-uzb mn-mon hr-hrv sr-srp sl-slv mk-mkd lt-lit lv-lav et-est is-isl ga-gle cy-cym eu-eus ca-cat gl-glg
la-lat eo-epo mt-mlt ta-tam te-tel ml-mal kn-kan mr-mar gu-guj pa-pan ne-nep si-sin my-mya km-khm lo-lao
tl-tgl jv-jav mg-mlg so-som rw-kin be-bel
"""
TARGET_BY_SOURCE: dict[str, str] = dict(pair.split("-") for pair in PAIRS.split())
# Others for the same: Mandarin, Bokmål, Persian of Iran, standard Malay and Arabic, and codes of libraries.
CODE_ALIASES = {"cmn": "zho", "nob": "nor", "nb": "nor", "pes": "fas", "zsm": "msa", "arb": "ara", "jap": "jpn",
        "fre": "fra", "ger": "deu", "dut": "nld", "chi": "zho", "rum": "ron", "cze": "ces", "gre": "ell",
        "ice": "isl"}  # fmt: skip


def default_target(codes: Sequence[str], *, wished: str = "", read: str = "") -> str:
    """The requested code, else a common language other than the source, else ""."""
    others = [code for code in codes if _plain(code) != _plain(read)] or list(codes)
    for wish in (wished, *TARGET_BY_SOURCE):
        fitting = [code for code in others if wish and _plain(code) == _plain(wish)]
        if fitting:
            return min(fitting, key=lambda code: (code != wish, "_" in code))  # the plainest, as the folder orders them
    return others[0] if others else ""


def _plain(code: str) -> str:
    """The language without script, common ones as three letters: "de" → "deu", "zh" and "cmn_Hans" → "zho"."""
    language = code.replace("-", "_").partition("_")[0].lower()
    return CODE_ALIASES.get(language, TARGET_BY_SOURCE.get(language, language))
