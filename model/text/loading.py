"""Loading of Headlight's vocabulary files."""

from __future__ import annotations

from pathlib import Path

from headlight.model.text import byte_pairs, piece_tokenizer, unigram, word_pieces
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.text.vocabulary import Vocabulary


def load_vocabulary(path: Path) -> Vocabulary:
    """Load a vocabulary file in any of Headlight's formats."""
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError):
        text = ""
    if f'"{piece_tokenizer.FORMAT}"' in text[:100]:
        return piece_tokenizer.PieceTokenizer.from_json(text, name=str(path))
    if f'"{byte_pairs.FORMAT_NAME}"' in text[:100]:
        return byte_pairs.BytePairTokenizer.from_json(text, name=str(path))
    if f'"{word_pieces.FORMAT}"' in text[:100]:
        return word_pieces.WordPieceTokenizer.from_json(text, name=str(path))
    if f'"{unigram.FORMAT}"' in text[:100]:
        return unigram.UnigramTokenizer.from_json(text, name=str(path))
    return Tokenizer.load(path)
