"""Clock times, weekdays, months, dates and years."""

from __future__ import annotations

from random import Random

from workshop.data.templates.frames import Draw, Languages, Value, pick_from, read_table
from workshop.data.templates.numerals import (
    chinese,
    chinese_digits,
    english,
    english_ordinal,
    english_suffix,
    english_year,
    german,
    german_ordinal,
    german_year,
)

MONTHS = read_table(
    """
    Januar | January | 一月 // 1月
    Februar | February | 二月 // 2月
    März | March | 三月 // 3月
    April | April | 四月 // 4月
    Mai | May | 五月 // 5月
    Juni | June | 六月 // 6月
    Juli | July | 七月 // 7月
    August | August | 八月 // 8月
    September | September | 九月 // 9月
    Oktober | October | 十月 // 10月
    November | November | 十一月 // 11月
    Dezember | December | 十二月 // 12月
    """
)
WEEKDAYS = read_table(
    """
    Montag | Monday | 星期一 // 周一 // 礼拜一
    Dienstag | Tuesday | 星期二 // 周二 // 礼拜二
    Mittwoch | Wednesday | 星期三 // 周三 // 礼拜三
    Donnerstag | Thursday | 星期四 // 周四 // 礼拜四
    Freitag | Friday | 星期五 // 周五 // 礼拜五
    Samstag // Sonnabend | Saturday | 星期六 // 周六 // 礼拜六
    Sonntag | Sunday | 星期日 // 星期天 // 周日 // 礼拜天
    """
)
NEXT_WEEKDAY = "nächsten {} // kommenden {} | next {} | 下{}"
LAST_WEEKDAY = "letzten {} // vergangenen {} | last {} | 上{}"
PARTS_OF_DAY = read_table(
    """
    am {}morgen | on {} morning | {}早上
    am {}vormittag | on {} morning | -
    am {}nachmittag | on {} afternoon | {}下午
    am {}abend | on {} evening | {}晚上
    """
)
PERIODS = ((5, "凌晨"), (9, "早上"), (12, "上午"), (13, "中午"), (18, "下午"), (24, "晚上"))
DAYS_PER_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)  # in leap years


def clock_words(random: Random, languages: Languages) -> Value:
    """Draw a time in words: `Viertel vor acht`, `a quarter to eight`, `七点四十五分`, in steps of five minutes."""
    hour, minute = random.randint(1, 12), random.randrange(0, 60, 5)
    next_hour = hour % 12 + 1
    de_hour, de_next = german(hour), german(next_hour)
    en_hour, en_next = english(hour), english(next_hour)
    zh_hour, zh_next = chinese(hour, counting=True) + "点", chinese(next_hour, counting=True) + "点"
    de_minutes, en_minutes = german(minute % 30 if minute < 30 else 60 - minute), english(min(minute, 60 - minute))
    if minute == 0:
        forms = f"{german(hour, final=False)} Uhr | {en_hour} o'clock | {zh_hour} // {zh_hour}钟 // {zh_hour}整"
    elif minute == 15:
        forms = (
            f"Viertel nach {de_hour} // viertel nach {de_hour} | a quarter past {en_hour} // quarter past {en_hour} |"
            f" {zh_hour}一刻 // {zh_hour}十五分"
        )
    elif minute == 30:
        forms = f"halb {de_next} | half past {en_hour} | {zh_hour}半 // {zh_hour}三十分"
    elif minute == 45:
        forms = (
            f"Viertel vor {de_next} // viertel vor {de_next} // drei viertel {de_next} |"
            f" a quarter to {en_next} // quarter to {en_next} |"
            f" {zh_hour}四十五分 // {zh_hour}三刻 // 差一刻{zh_next}"
        )
    else:
        past = minute < 30
        near_half = {25: f"fünf vor halb {de_next}", 35: f"fünf nach halb {de_next}"}.get(minute)
        de = near_half or f"{de_minutes} {'nach ' + de_hour if past else 'vor ' + de_next}"
        en = f"{en_minutes} {'past ' + en_hour if past else 'to ' + en_next}"
        zh = f"{zh_hour}{'零' if minute < 10 else ''}{chinese(minute)}分"
        forms = f"{de} | {en} | {zh}" + ("" if past else f" // 差{chinese(60 - minute)}分{zh_next}")
    return read_table(forms)[0]


def clock_of_day(random: Random, languages: Languages) -> Value:
    """Draw an hour with its part of the day: `drei Uhr nachmittags`, `three o'clock in the afternoon`, `下午三点`."""
    first, last, de, en, zh = random.choice(
        [
            (6, 11, "morgens", "in the morning", "早上"),
            (1, 5, "nachmittags", "in the afternoon", "下午"),
            (6, 11, "abends", "in the evening", "晚上"),
        ]
    )
    hour = random.randint(first, last)
    return {
        "de": (f"{german(hour, final=False)} Uhr {de}",),
        "en": (f"{english(hour)} o'clock {en}",),
        "zh": (f"{zh}{chinese(hour, counting=True)}点",),
    }


def clock_digits(random: Random, languages: Languages) -> Value:
    """Draw a time in digits: `7:45 Uhr`, `7:45`, `7点45分`, or `19:45 Uhr`, `7:45 p.m.`, `晚上7点45分`."""
    hour, minute = random.randint(0, 23), random.choice((0, 5, 10, 15, 20, 30, 30, 40, 45, random.randint(1, 59)))
    am_or_pm, hour_of_half = "a.m." if hour < 12 else "p.m.", (hour - 1) % 12 + 1
    undotted = am_or_pm.replace(".", "")
    minutes, zh_minutes = (f":{minute:02}", f"{minute}分") if minute else ("", "")
    twelve_hour_forms = tuple(f"{hour_of_half}{minutes} {name}" for name in (am_or_pm, undotted, undotted.upper()))
    de = (f"{hour}:{minute:02} Uhr", f"{hour}.{minute:02} Uhr", f"{hour} Uhr {minute}")
    if not minute:
        de = (f"{hour} Uhr", f"{hour}:00 Uhr", f"{hour}.00 Uhr")
    if 1 <= hour <= 12 and ("de" in languages or random.random() < 0.5):
        en = (f"{hour}{minutes}" if minute else f"{hour} o'clock",)
        return {
            "de": de,
            "en": en + twelve_hour_forms * ("de" in languages),
            "zh": (f"{hour}点{zh_minutes}", f"{hour}:{minute:02}"),
        }
    period = next(name for end, name in PERIODS if hour < end)
    zh = (f"{period}{hour_of_half}点{zh_minutes}", f"{period}{hour_of_half}:{minute:02}")
    return {"de": de, "en": twelve_hour_forms, "zh": zh + (f"{hour}:{minute:02}",) * (hour > 12)}


def clock_spoken(random: Random, languages: Languages) -> Value:
    """Draw a time with minutes that five does not divide: `sieben Uhr siebzehn`, `seven seventeen`, `七点十七分`."""
    hour, minute = random.randint(1, 12), random.choice([number for number in range(1, 60) if number % 5])
    gap = "oh " if minute < 10 else ""
    return {
        "de": (f"{german(hour, final=False)} Uhr {german(minute)}",),
        "en": (f"{english(hour)} {gap}{english(minute)}",),
        "zh": (f"{chinese(hour, counting=True)}点{'零' if gap else ''}{chinese(minute)}分",),
    }


def clock(random: Random, languages: Languages) -> Value:
    """Draw a time in one of the formats above."""
    slots = (clock_words, clock_words, clock_words, clock_digits, clock_digits, clock_of_day, clock_spoken)
    return random.choice(slots)(random, languages)


def _near_weekday(table: str) -> Draw:
    pattern = read_table(table)[0]

    def draw(random: Random, languages: Languages) -> Value:
        day = random.choice(WEEKDAYS)
        return {
            language: tuple(form.format(name) for form in pattern[language] for name in day[language])
            for language in languages
        }

    return draw


def part_of_weekday(random: Random, languages: Languages) -> Value:
    """Draw a part of a weekday: `am Montagabend`, `on Monday evening`, `星期一晚上`."""
    parts = [part for part in PARTS_OF_DAY if set(languages) <= part.keys()]
    if languages[0] == "en":
        parts = [part for part in parts if part["de"] != ("am {}vormittag",)]  # English "morning" has one translation
    part, day = random.choice(parts), random.choice(WEEKDAYS[:5])
    return {language: tuple(part[language][0].format(name) for name in day[language]) for language in languages}


def _day_and_month(random: Random) -> tuple[int, int]:
    month = random.randint(1, 12)
    return random.randint(1, DAYS_PER_MONTH[month - 1]), month


def date_digits(random: Random, languages: Languages) -> Value:
    """Draw a date in digits: `3. Mai 2024`, `May 3, 2024`, `2024年5月3日`. Half of the dates have no year."""
    day, month = _day_and_month(random)
    de, en = MONTHS[month - 1]["de"][0], MONTHS[month - 1]["en"][0]
    if random.random() < 0.5:
        return {
            "de": (f"{day}. {de}",),
            "en": (f"{en} {day}", f"{en} {english_suffix(day)}", f"{day} {en}"),
            "zh": (f"{month}月{day}日", f"{month}月{day}号"),
        }
    year = random.randint(1750, 2045)
    return {
        "de": (f"{day}. {de} {year}", f"{day}.{month}.{year}", f"{day:02}.{month:02}.{year}"),
        "en": (f"{en} {day}, {year}", f"{en} {english_suffix(day)}, {year}", f"{day} {en} {year}"),
        "zh": (f"{year}年{month}月{day}日", f"{year}年{month}月{day}号"),
    }


def date_words(random: Random, languages: Languages) -> Value:
    """Draw a date in words: `dritten Mai`, `the third of May`, `五月三日`."""
    day, month = _day_and_month(random)
    return {
        "de": (f"{german_ordinal(day)} {MONTHS[month - 1]['de'][0]}",),
        "en": (f"the {english_ordinal(day)} of {MONTHS[month - 1]['en'][0]}",),
        "zh": (f"{chinese(month)}月{chinese(day)}日", f"{chinese(month)}月{chinese(day)}号"),
    }


def date(random: Random, languages: Languages) -> Value:
    """Draw a date in digits or words."""
    return random.choice((date_digits, date_digits, date_words))(random, languages)


def weekday_and_date(random: Random, languages: Languages) -> Value:
    """Draw a weekday with a date: `Montag, dem 3. Mai`, `Monday, May 3`, `5月3日星期一`."""
    day, month = _day_and_month(random)
    weekday = random.choice(WEEKDAYS)
    de, en = MONTHS[month - 1]["de"][0], MONTHS[month - 1]["en"][0]
    return {
        "de": tuple(f"{name}, {article} {day}. {de}" for name in weekday["de"] for article in ("dem", "den")),
        "en": (f"{weekday['en'][0]}, {en} {day}", f"{weekday['en'][0]}, {en} {english_suffix(day)}"),
        "zh": tuple(f"{month}月{day}日{name}" for name in weekday["zh"]),
    }


def year(random: Random, languages: Languages) -> Value:
    """Draw a year in digits."""
    number = str(random.choice((random.randint(1100, 2090), random.randint(1900, 2030))))
    return dict.fromkeys(("de", "en", "zh"), (number,))


def year_words(random: Random, languages: Languages) -> Value:
    """Draw a year in words."""
    number = random.choice((random.randint(1101, 1999), random.randint(2000, 2040)))
    return {
        "de": (german_year(number),),
        "en": (english_year(number),),
        "zh": (chinese_digits(str(number)),),
    }


SLOTS: dict[str, Draw] = {
    "time": clock,
    "weekday": pick_from(WEEKDAYS),
    "next_weekday": _near_weekday(NEXT_WEEKDAY),
    "last_weekday": _near_weekday(LAST_WEEKDAY),
    "part_of_weekday": part_of_weekday,
    "month": pick_from(MONTHS),
    "date": date,
    "weekday_date": weekday_and_date,
    "year": year,
    "year_words": year_words,
}
