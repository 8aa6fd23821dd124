"""Learn, the quiz: two forms and three questions after two days, results with reasons, and a class with live counts."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from headlight.viz.figure_phrases import phrases
from headlight.viz.lessons.quiz.forms import ITEMS, read_quiz
from tests.browser.acting import open_tab, switch_language, until
from tests.browser.axe import barriers
from tests.browser.conftest import Visit

WORDS = phrases("en")
BANK = json.loads(json.dumps(read_quiz({})))
NAMES = [item.name for item in ITEMS]
QUESTION, NEXT = ".quiz-question", ".quiz-question .go"
TWO_DAYS_MS = 2 * 24 * 3600 * 1000


def visit_quiz(visit: Visit, step: str = "", **options: Any) -> Page:
    link = f"quiz.{step}" if step else "quiz"
    return visit(f"#tab=learn&lesson={link}", drawn=".quiz > section:not([hidden])", **options)


def stored(page: Page) -> dict[str, Any]:
    result: dict[str, Any] = page.evaluate("JSON.parse(localStorage.getItem('headlight-learn')).quiz")
    return result


def store(page: Page, quiz: dict[str, Any]) -> None:
    page.evaluate("(quiz) => localStorage.setItem('headlight-learn', JSON.stringify({ quiz }))", quiz)
    page.reload()
    page.wait_for_selector(".quiz > section:not([hidden])")


def answers(form: str, outcome: int) -> dict[str, Any]:
    """Answers to all questions of a form: the outcome of this index, 0 for the right one."""
    result = {}
    for name in NAMES:
        each = BANK["forms"][form][name]["outcomes"][outcome]
        entry = each["answer"]
        if BANK["forms"][form][name]["kind"] == "numbers":
            entry = [f"{number:.2f}" for number in entry]
        result[name] = {"outcome": each["name"], "entry": entry}
    return result


def reply(page: Page, question: dict[str, Any], answer: Any) -> None:
    """Enter an answer: numbers and options as a reader would, cells with the keyboard."""
    if question["kind"] == "numbers":
        for index, number in enumerate(answer):
            page.locator(".quiz-fields input").nth(index).fill(f"{number:.2f}".replace("-", "−"))
    elif question["kind"] == "choice":
        page.locator(f'.quiz-option:has(input[value="{answer}"])').click()
    else:
        page.locator(".quiz-grid button").first.focus()
        at = [0, 0]
        for row, column in sorted(map(tuple, answer)):
            for axis, target in enumerate((row, column)):
                keys = ("ArrowUp", "ArrowDown") if axis == 0 else ("ArrowLeft", "ArrowRight")
                while at[axis] != target:
                    page.keyboard.press(keys[target > at[axis]])
                    at[axis] += 1 if target > at[axis] else -1
            page.keyboard.press(" ")


@pytest.mark.journey
def test_a_reader_answers_the_first_form_and_the_browser_remembers_it(visit: Visit) -> None:
    page = visit()
    open_tab(page, "learn")
    page.click(".lesson-row[data-lesson=quiz]")
    expect(page.locator(".quiz-stages li.later")).to_have_count(2)
    assert not barriers(page, ".quiz")
    page.click(".quiz-stages [data-stage=before] .go")
    for number, name in enumerate(NAMES, 1):
        page.wait_for_selector(f"{QUESTION}[data-item={name}]")
        expect(page).to_have_url(re.compile("lesson=quiz[.]before"))
        form = stored(page)["forms"][0]
        question = BANK["forms"][form][name]
        expect(page.locator(f"{QUESTION} h2")).to_be_focused()
        expect(page.locator(NEXT)).to_be_disabled()
        assert page.locator(".quiz-question .term").count() == 0  # the glossary would give answers away
        if name == "dot":  # what is no number is named, and a sum counts
            page.locator(".quiz-fields input").fill("about 3")
            page.click(NEXT)
            expect(page.locator(f"{QUESTION} .error")).to_contain_text("about 3")
            page.locator(".quiz-fields input").fill(f"{question['outcomes'][0]['answer'][0]:.4f}+0*2")
        elif name == "padding":
            page.click(".quiz-buttons .link")
            continue
        else:
            reply(page, question, question["outcomes"][number % 2]["answer"])
        page.click(NEXT)
    expect(page.locator("[data-stage=before] .numeric")).to_have_text(WORDS["quiz_answered"].format(all=12))
    outcomes = {name: answer["outcome"] for name, answer in stored(page)["stages"]["before"]["answers"].items()}
    form = stored(page)["forms"][0]
    for number, name in enumerate(NAMES, 1):
        expected = BANK["forms"][form][name]["outcomes"][number % 2]["name"]
        assert outcomes[name] == {"dot": "right", "padding": "unknown"}.get(name, expected), name
    page.reload()
    expect(page.locator("[data-stage=after] .go")).to_have_text(WORDS["quiz_begin"])
    expect(page.locator("[data-stage=again] .go")).to_have_count(0)


def test_a_lesson_that_still_loads_leaves_the_quiz_alone(visit: Visit) -> None:
    routes: list[Route] = []
    page = visit("#tab=learn&lesson=build.words", drawn=".build[data-part]")
    page.route("**/call/run_experiment", lambda route: routes.append(route))
    page.evaluate("location.hash = '#tab=learn&lesson=verdict.erase'")
    page.wait_for_selector(".lesson.loading")
    until(page, lambda: bool(routes))
    page.evaluate("location.hash = '#tab=learn&lesson=quiz'")
    expect(page.locator(".quiz-overview")).to_be_visible()
    drawn_step = page.locator(".lesson").get_attribute("data-step")
    with page.expect_response("**/call/run_experiment"):
        routes[0].continue_()
    page.evaluate("new Promise((resolve) => setTimeout(resolve, 300))")
    assert page.locator(".lesson").get_attribute("data-step") == drawn_step
    expect(page.locator(".quiz-overview")).to_be_visible()


def test_the_quiz_says_that_its_questions_load(visit: Visit) -> None:
    routes: list[Route] = []
    page = visit()
    page.route("**/call/read_quiz", lambda route: routes.append(route))
    page.evaluate("location.hash = '#tab=learn&lesson=quiz'")
    expect(page.locator(".quiz > [role=status]")).to_have_text(WORDS["quiz_loading"])
    until(page, lambda: bool(routes))
    routes[0].continue_()
    expect(page.locator(".quiz-overview")).to_be_visible()
    expect(page.locator(".quiz > [role=status]")).to_have_text("")


def test_an_answer_that_cannot_be_drawn_is_no_blank_page(visit: Visit) -> None:
    page = visit("#tab=learn", drawn=".lesson-row")
    page.route("**/call/read_quiz", lambda route: route.fulfill(json={"items": NAMES, "glosses": {}}), times=1)
    page.evaluate("location.hash = '#tab=learn&lesson=quiz.before'")
    expect(page.locator(".quiz > .error")).to_have_text(WORDS["error_our_fault"])
    page.evaluate("location.hash = '#tab=learn&lesson=quiz'")
    expect(page.locator(".quiz-overview")).to_be_visible()
    expect(page.locator(".quiz > .error")).to_have_text("")


def test_results_explain_wrong_answers_and_three_questions_come_after_two_days(visit: Visit, tmp_path: Path) -> None:
    page = visit_quiz(visit)
    last = NAMES[-1]
    after = {name: answer for name, answer in answers("A", 0).items() if name != last}
    before = {"answers": answers("B", 1), "doneAt": 1}
    store(page, {"forms": "BA", "stages": {"before": before, "after": {"answers": after}}})
    expect(page.locator("[data-stage=after] .go")).to_have_text(WORDS["quiz_go_on"].format(number=12))
    page.click("[data-stage=after] .go")
    page.wait_for_selector(f"{QUESTION}[data-item={last}]")
    question = BANK["forms"]["A"][last]
    reply(page, question, question["outcomes"][0]["answer"])
    page.click(NEXT)

    # The results: one reason for each mistake, and the right answer when a line is opened.
    expect(page.locator(".quiz-results h2")).to_have_text(WORDS["quiz_results"])
    expect(page.locator(".quiz-results .lead")).to_contain_text("0 to 12 of 12")
    expect(page.locator(".quiz-results .verdict.wrong")).to_have_count(12)
    for name in NAMES:
        mistake = BANK["forms"]["B"][name]["outcomes"][1]["name"]
        reason = WORDS[f"quiz_why_{name}_{mistake}"].split("{")[0]
        expect(page.locator(f".quiz-results [data-item={name}] summary .reason").first).to_contain_text(reason)
        page.locator(f".quiz-results [data-item={name}] summary").first.click()
    assert not barriers(page, ".quiz")
    switch_language(page, "zh")
    expect(page.locator(".quiz-results h2")).to_have_text(phrases("zh")["quiz_results"])
    switch_language(page, "en")

    # The file has the scores and every outcome.
    page.click(".quiz-where .link:visible")
    with page.expect_download() as download:
        page.get_by_role("button", name=WORDS["quiz_save"]).click()
    path = tmp_path / "answers.csv"
    download.value.save_as(path)
    (row,) = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    assert [row[name] for name in ("group", "first_form", "before", "after", "again")] == ["", "B", "0", "12", ""]
    assert row["before_dot"] == BANK["forms"]["B"]["dot"]["outcomes"][1]["name"]
    assert row["after_query"] == "right"

    # The last three open after two days, with other numbers.
    expect(page.locator("[data-stage=again] .go")).to_have_count(0)
    quiz = stored(page)
    quiz["stages"]["after"]["doneAt"] -= TWO_DAYS_MS
    store(page, quiz)
    page.click("[data-stage=again] .go")
    chosen = stored(page)["again"]
    assert len(set(chosen)) == 3
    for name in chosen:
        page.wait_for_selector(f"{QUESTION}[data-item={name}]")
        question = BANK["forms"]["C"][name]
        reply(page, question, question["outcomes"][0]["answer"])
        page.click(NEXT)
    page.click(".quiz-where .link:visible")
    expect(page.locator("[data-stage=again] .numeric")).to_have_text(WORDS["quiz_score"].format(right=3, all=3))

    # All answers can be deleted, at the second press.
    for name in ("quiz_restart", "quiz_restart_sure"):
        page.get_by_role("button", name=WORDS[name]).click()
    expect(page.locator("[data-stage=before] .go")).to_have_text(WORDS["quiz_begin"])
    assert stored(page) == {}


def test_a_class_sees_its_answers_come_in(visit: Visit, tmp_path: Path) -> None:
    teacher = visit_quiz(visit)
    teacher.get_by_role("button", name=WORDS["quiz_class_make"]).click()
    title = teacher.locator(".quiz-live h2")
    expect(title).to_have_text(re.compile("Class [A-Z]{5}"))
    code = title.inner_text().split()[-1]
    expect(teacher.locator(".quiz-detail-top .numeric")).to_have_text(WORDS["quiz_class_none"])
    assert not barriers(teacher, ".quiz")

    student = teacher.context.new_page()
    student.goto(teacher.url.split("#")[0] + f"#tab=learn&lesson=quiz.join-{code}")
    field = student.locator(".quiz-class input")
    expect(field).to_have_value(code)
    field.fill("BBBBB")
    student.get_by_role("button", name=WORDS["quiz_class_join"]).click()
    expect(student.locator(".quiz-class .error")).to_contain_text("BBBBB")
    field.fill(code.lower())
    student.get_by_role("button", name=WORDS["quiz_class_join"]).click()
    joined = WORDS["quiz_class_joined"].format(code=code)
    expect(student.locator(".quiz-class")).to_contain_text(joined)
    student.click("[data-stage=before] .go")
    expect(student.locator(".quiz-reply [role=status]")).to_have_text(joined)
    form = stored(student)["forms"][0]
    question = BANK["forms"][form]["dot"]
    reply(student, question, question["outcomes"][1]["answer"])
    student.click(NEXT)
    student.wait_for_selector(f"{QUESTION}[data-item={NAMES[1]}]")
    student.click(".quiz-buttons .link")

    # The teacher's page follows without a reload; the answer is shown on request.
    expect(teacher.locator("[data-key=row-dot]")).to_contain_text("0 of 1")
    expect(teacher.locator(f"[data-key=row-{NAMES[1]}]")).to_contain_text("0 of 1")
    teacher.click(f"[data-key=form-{form}]")
    mistake = question["outcomes"][1]["name"]
    expect(teacher.locator(f"[data-outcome={mistake}] .numeric")).to_have_text("1")
    expect(teacher.locator(".quiz-outcomes .right")).to_have_count(0)
    teacher.click("[data-key=answer]")
    expect(teacher.locator(".quiz-outcomes .right")).to_have_count(1)
    teacher.locator("[data-key=row-dot]").focus()
    teacher.keyboard.press("ArrowDown")
    expect(teacher.locator(f"[data-key=row-{NAMES[1]}]")).to_have_attribute("aria-pressed", "true")
    expect(teacher.locator("[data-outcome=unknown] .numeric")).to_have_text("1")
    with teacher.expect_download() as download:
        teacher.get_by_role("button", name=WORDS["quiz_class_export"]).click()
    path = tmp_path / "class.csv"
    download.value.save_as(path)
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert {(row["question"], row["answer"], row["count"]) for row in rows} == {
        ("dot", mistake, "1"),
        (NAMES[1], "unknown", "1"),
    }

    # After the class is deleted, a student's answers stay in the browser, and the page says so.
    for name in ("quiz_class_delete", "quiz_class_delete_sure"):
        teacher.get_by_role("button", name=WORDS[name]).click()
    expect(teacher.locator(".quiz-live [role=status]")).to_have_text(WORDS["quiz_class_deleted"])
    student.click(".quiz-buttons .link")
    expect(student.locator(".quiz-reply [role=status]")).to_contain_text(code)
    assert len(stored(student)["stages"]["before"]["answers"]) == 3
    student.close()


def test_an_entry_survives_a_change_of_language(visit: Visit) -> None:
    page = visit_quiz(visit)
    earlier = {name: {"outcome": "unknown", "entry": None} for name in NAMES if name not in ("mask", "softmax")}
    store(page, {"forms": "AB", "stages": {"before": {"answers": earlier}}})
    page.click("[data-stage=before] .go")
    for number in range(3):
        page.locator(".quiz-fields input").nth(number).fill(f"0.{number}")
    switch_language(page, "zh")
    expect(page.locator(f"{QUESTION} h2")).to_contain_text("√d")
    expect(page.locator(NEXT)).to_have_text(phrases("zh")["quiz_next"])
    for number in range(3):
        expect(page.locator(".quiz-fields input").nth(number)).to_have_value(f"0.{number}")
    page.click(NEXT)
    page.wait_for_selector(f"{QUESTION}[data-item=mask]")
    page.click(".quiz-grid [data-cell='0,1']")
    switch_language(page, "en")
    expect(page.locator(".quiz-grid [data-cell='0,1']")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".quiz-grid tbody th").first).to_have_text(WORDS["quiz_word_start"])


def test_without_consent_no_answer_is_sent(visit: Visit) -> None:
    page = visit_quiz(visit, "before")
    calls: list[str] = []
    page.on("request", lambda request: calls.append(request.url.rpartition("/")[2]))
    for name in NAMES[:3]:
        page.wait_for_selector(f"{QUESTION}[data-item={name}]")
        page.click(".quiz-buttons .link")
    page.wait_for_selector(f"{QUESTION}[data-item={NAMES[3]}]")
    assert not [call for call in calls if "class" in call or "quiz" in call]


def test_questions_fit_a_phone(visit: Visit) -> None:
    page = visit_quiz(visit, width=360, height=740)
    page.evaluate("location.hash = '#tab=learn&lesson=quiz.before'")
    earlier: dict[str, Any] = {}
    for name in NAMES:
        store(page, {"forms": "AB", "stages": {"before": {"answers": earlier}}})
        page.wait_for_selector(f"{QUESTION}[data-item={name}]")
        right = page.evaluate(
            "Math.max(...[...document.querySelectorAll('.quiz *')].map((each) => each.getBoundingClientRect().right))"
        )
        assert right <= 360.5, name
        assert not barriers(page, ".quiz"), name
        earlier[name] = {"outcome": "unknown", "entry": None}
