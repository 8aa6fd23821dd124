"""Writes `model/text/simplified_characters.py` from OpenCC.

    pip install opencc
    python workshop/data/simplified_table.py

Only pairs of one character are written whose simplified form is in GBK: others are not in the models' training text.
"""

from __future__ import annotations

from pathlib import Path

PER_LINE = 48
TABLE = Path(__file__).parents[2] / "model" / "text" / "simplified_characters.py"
HEADER = '''"""Traditional Chinese characters and their simplified forms, one to one.

Generated from OpenCC {version} (https://github.com/BYVoid/OpenCC, Apache-2.0) by `workshop/data/simplified_table.py`.
"""

'''


def main() -> None:
    """Write the table."""
    import opencc  # type: ignore[import-not-found]  # only for generating

    convert = opencc.OpenCC("t2s").convert
    pairs = [
        (character, simplified)
        for character in map(chr, range(0x3400, 0xA000))
        if (simplified := convert(character)) != character and len(simplified) == 1 and _is_frequent(simplified)
    ]
    blocks = []
    for name, side in (("TRADITIONAL", 0), ("SIMPLIFIED", 1)):
        characters = "".join(pair[side] for pair in pairs)
        lines = [characters[start : start + PER_LINE] for start in range(0, len(characters), PER_LINE)]
        blocks.append(f"{name} = (\n" + "".join(f'    "{line}"\n' for line in lines) + ")\n")
    TABLE.write_text(HEADER.format(version=opencc.__version__) + "".join(blocks), encoding="utf-8")


def _is_frequent(character: str) -> bool:
    try:
        character.encode("gbk")
    except UnicodeEncodeError:
        return False
    return True


if __name__ == "__main__":
    main()
