"""Numbers in digits and words, counted things, prices, measures, percentages and telephone numbers."""

from __future__ import annotations

from random import Random

from workshop.data.templates.frames import Draw, Languages, Value, pick_from, read_table
from workshop.data.templates.numerals import chinese, english, german

THINGS = read_table(
    """
    Äpfel | apples | 个苹果
    Bücher | books | 本书
    Stühle | chairs | 把椅子
    Tische | tables | 张桌子
    Hunde | dogs | 只狗
    Katzen | cats | 只猫
    Autos | cars | 辆汽车
    Fahrräder | bicycles | 辆自行车
    Karten | tickets | 张票
    Zimmer | rooms | 个房间
    Häuser | houses | 栋房子
    Bäume | trees | 棵树
    Eier | eggs | 个鸡蛋
    Hemden | shirts | 件衬衫
    Briefe | letters | 封信
    Fehler | mistakes | 个错误
    Fragen | questions | 个问题
    Bilder | pictures | 张照片
    Flaschen | bottles | 个瓶子
    Schüler | students | 个学生
    Kinder | children | 个孩子
    Leute | people | 个人
    Seiten | pages | -
    Wörter | words | 个单词
    Fenster | windows | 扇窗户
    Brücken | bridges | 座桥
    Inseln | islands | 个岛
    Koffer | suitcases | 个手提箱
    Löffel | spoons | 把勺子
    Schiffe | ships | 艘船
    """
)
SPANS = read_table("""
    Minuten | minutes | 分钟
    Stunden | hours | 个小时
    Tage | days | 天
    Wochen | weeks | 个星期
    Monate | months | 个月
    Jahre | years | 年
    """)
DISTANCES = read_table("""
    Kilometer | kilometers // kilometres | 公里
    Meter | meters // metres | 米
    """)
HEIGHTS = read_table("""
    Meter | meters // metres | 米
    Zentimeter | centimeters // centimetres | 厘米
    """)
WEIGHTS = read_table("""
    Kilogramm // Kilo | kilograms // kilos | 公斤
    Gramm | grams | 克
    """)
VOLUMES = read_table("Liter | liters // litres | 升")
COINS = read_table(
    """
    Euro | euros | 欧元
    Dollar | dollars | 美元
    Yuan | yuan | 元 // 块
    Pfund | pounds | 英镑
    """
)
SIGNS = read_table(
    """
    {} plus {} ist {} // {} und {} ist {} // {} plus {} gleich {} | {} plus {} is {} // {} and {} is {} | {}加{}等于{}
    {} mal {} ist {} // {} mal {} gleich {} | {} times {} is {} | {}乘{}等于{} // {}乘以{}等于{}
    """
)


def _format_digits(number: int) -> Value:
    grouped = f"{number:,}"
    if number < 10_000:  # the thousands separator is optional up to four digits
        return {"de": (grouped.replace(",", "."), str(number)), "en": (grouped, str(number)), "zh": (str(number),)}
    return {
        "de": (grouped.replace(",", "."), grouped.replace(",", " ")),
        "en": (grouped,),
        "zh": (str(number), grouped),
    }


def _words(number: int, *, counting: bool = False) -> Value:
    de, en = german(number, final=not counting), english(number)
    en_forms = [en, english(number, joined=False)]
    if en.startswith(("one hundred", "one thousand")):
        en_forms.append("a" + en.removeprefix("one"))
    return {
        "de": (de, f"ein{de}") if de.startswith(("hundert", "tausend")) else (de,),
        "en": tuple(dict.fromkeys(en_forms)),
        "zh": (chinese(number, counting=counting),),
    }


def _join(*parts: Value) -> Value:
    """Join values: all forms of the first with the first forms of the others, and one join with their last forms."""
    joined: dict[str, tuple[str, ...]] = {}
    for language in parts[0]:
        if all(language in part for part in parts):
            separator = "" if language == "zh" else " "
            main_forms = [
                separator.join((form, *(part[language][0] for part in parts[1:]))) for form in parts[0][language]
            ]
            other_forms = [separator.join((parts[0][language][0], *(part[language][-1] for part in parts[1:])))]
            joined[language] = tuple(dict.fromkeys(main_forms + other_forms))
    return joined


def _size(random: Random) -> int:
    """Draw a number up to 10,000; small numbers are more frequent."""
    return random.randint(2, random.choice((12, 30, 100, 1000, 10_000)))


def number_digits(random: Random, languages: Languages) -> Value:
    """Draw a number in digits: `3.521`, `3,521`, `3521`."""
    return _format_digits(random.randint(2, random.choice((100, 1000, 10_000, 100_000, 10_000_000))))


def number_words(random: Random, languages: Languages) -> Value:
    """Draw a number in words: `dreitausendfünfhunderteinundzwanzig`."""
    return _words(random.randint(2, random.choice((30, 100, 100, 1000, 10_000, 100_000))))


def _equation(random: Random, numbers: tuple[int, int, int], signs: Value) -> Value:
    """Format an equation with numbers in words or digits: `zwölf plus drei ist fünfzehn`."""
    values = [_words(number) if random.random() < 0.5 else _format_digits(number) for number in numbers]
    if random.random() < 0.8:  # usually all three numbers have the same format
        values = [_words(number) if numbers[2] % 2 else _format_digits(number) for number in numbers]
    result = {}
    for language in ("de", "en", "zh"):
        first, second, third = (value[language][0] for value in values)
        result[language] = tuple(sign.format(first, second, third) for sign in signs[language])
    return result


def addition(random: Random, languages: Languages) -> Value:
    """Draw a correct sum: `zwölf plus drei ist fünfzehn`."""
    first, second = random.randint(2, 60), random.randint(2, 60)
    return _equation(random, (first, second, first + second), SIGNS[0])


def product(random: Random, languages: Languages) -> Value:
    """Draw a correct product: `sechs mal sieben ist zweiundvierzig`."""
    first, second = random.randint(2, 12), random.randint(2, 20)
    return _equation(random, (first, second, first * second), SIGNS[1])


def small_digits(random: Random, languages: Languages) -> Value:
    """Draw a number from 2 to 999, for rooms, lines and platforms."""
    return _format_digits(random.randint(2, random.choice((20, 99, 999))))


def decimal(random: Random, languages: Languages) -> Value:
    """Draw a decimal number: `3,5`, `3.5`."""
    integer = random.randint(0, random.choice((9, 99, 400)))
    decimals = random.choice((str(random.randint(1, 9)), f"{random.randint(1, 99):02}"))
    text = f"{integer}.{decimals}"
    return {"de": (text.replace(".", ","),), "en": (text,), "zh": (text,)}


def _draw_amount(random: Random, units: tuple[Value, ...], languages: Languages) -> Value:
    number = _size(random)
    unit = pick_from(units)(random, languages)
    if random.random() < 0.5:
        return _join(_format_digits(number), unit)
    return _join(_words(random.randint(2, random.choice((12, 12, 100, 999))), counting=True), unit)


def things(random: Random, languages: Languages) -> Value:
    """Draw counted things: `sieben Stühle`, `seven chairs`, `七把椅子`."""
    return _draw_amount(random, THINGS, languages)


def span(random: Random, languages: Languages) -> Value:
    """Draw a duration: `drei Wochen`, `three weeks`, `三个星期`."""
    return _draw_amount(random, SPANS, languages)


def _measure(units: tuple[Value, ...]) -> Draw:
    """Return a slot that draws a measure: `3,5 Kilometer`, `zwölf Liter`."""

    def draw(random: Random, languages: Languages) -> Value:
        if random.random() < 0.3:
            return _join(decimal(random, languages), random.choice(units))
        return _draw_amount(random, units, languages)

    return draw


def _symbol_measure(*symbols: str) -> Draw:
    """Return a slot that draws a measure with a unit symbol: `350 km`. Only the decimal mark varies by language."""

    def draw(random: Random, languages: Languages) -> Value:
        unit = random.choice(symbols)
        value = decimal(random, languages) if random.random() < 0.4 else _format_digits(random.randint(2, 999))
        return _join(value, dict.fromkeys(("de", "en", "zh"), (unit,)))

    return draw


def price(random: Random, languages: Languages) -> Value:
    """Draw a price: `4,50 Euro`, `zwanzig Dollar`, `12,99 €`."""
    coin, variant = random.choice(COINS), random.random()
    number = random.randint(1, random.choice((20, 100, 1000)))
    if variant < 0.35:
        return _join(_words(max(2, number), counting=True), coin)
    if variant < 0.55:
        return _join(_format_digits(max(2, number)), coin)
    cents = random.choice((50, 99, 95, 20, random.randint(1, 99)))
    if variant < 0.75:
        text = f"{number}.{cents:02}"
        return _join({"de": (text.replace(".", ","),), "en": (text,), "zh": (text,)}, coin)
    sign = random.choice("€$£")
    text = f"{number}.{cents:02}" if variant < 0.9 else str(number)
    comma = text.replace(".", ",")
    return {"de": (f"{comma} {sign}", f"{comma}{sign}"), "en": (sign + text,), "zh": (sign + text,)}


def share(random: Random, languages: Languages) -> Value:
    """Draw a percentage: `25 %`, `fünfundzwanzig Prozent`."""
    number = random.randint(2, 99)
    if random.random() < 0.5:
        return {
            "de": (f"{number} %", f"{number}%", f"{number} Prozent"),
            "en": (f"{number}%", f"{number} percent", f"{number} per cent"),
            "zh": (f"{number}%",),
        }
    return {
        "de": (f"{german(number)} Prozent",),
        "en": (f"{english(number)} percent", f"{english(number)} per cent"),
        "zh": (f"百分之{chinese(number)}",),
    }


def degrees(random: Random, languages: Languages) -> Value:
    """Draw a temperature: `minus fünf Grad`, `minus five degrees`, `零下五度`."""
    number = random.randint(2, 39)
    value = _format_digits(number) if random.random() < 0.5 else _words(number, counting=True)
    zh = "两" if value["zh"] == ("两",) else value["zh"][0]
    is_negative = random.random() < 0.4
    sign = "minus " if is_negative else ""
    return {
        "de": (f"{sign}{value['de'][0]} Grad",),
        "en": (f"{sign}{value['en'][0]} degrees",),
        "zh": (f"{'零下' if is_negative else ''}{zh}度",),
    }


def telephone(random: Random, languages: Languages) -> Value:
    """Draw a telephone number of 6 to 11 digits in one of several formats. All languages copy it."""
    digits = "".join(random.choice("0123456789") for _ in range(random.randint(6, 11)))
    split = random.randint(2, 5)
    number = random.choice((digits, f"0{digits[:split]} {digits[split:]}", f"0{digits[:split]}/{digits[split:]}"))
    if random.random() < 0.2:
        number = f"+{random.choice((49, 44, 1, 86, 41, 43))} {digits[:split]} {digits[split:]}"
    return dict.fromkeys(("de", "en", "zh"), (number,))


def age(random: Random, languages: Languages) -> Value:
    """Draw a number of years in digits or words, for `34 Jahre alt`."""
    number = random.randint(2, 99)
    value = _format_digits(number) if random.random() < 0.5 else _words(number, counting=True)
    return {**value, "zh": (value["zh"][0],)}


SLOTS: dict[str, Draw] = {
    "number": number_digits,
    "number_words": number_words,
    "sum": addition,
    "product": product,
    "small": small_digits,
    "decimal": decimal,
    "things": things,
    "span": span,
    "distance": _measure(DISTANCES),
    "distance_symbol": _symbol_measure("km", "m"),
    "height": _measure(HEIGHTS),
    "weight": _measure(WEIGHTS),
    "weight_symbol": _symbol_measure("kg", "g"),
    "volume": _measure(VOLUMES),
    "price": price,
    "share": share,
    "degrees": degrees,
    "telephone": telephone,
    "age": age,
}
