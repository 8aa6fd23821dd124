"""Decoding: keyboard navigation and dropped hypotheses. Why: the same weights as in Heads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from headlight import Translator
from headlight.model.experiments.account import account_by_head, word_account
from headlight.model.experiments.logit_lens import decompose_logit
from headlight.model.experiments.reasons import find_likeliest_rival
from headlight.model.experiments.score_parts import Cell, score_parts, weight_without
from headlight.model.records import KINDS, BeamTree, Translation
from headlight.viz.figure_phrases import phrases
from headlight.viz.service.examples import EXAMPLES
from tests.browser.acting import (
    choose_panel,
    expose_state,
    open_tab,
    page_weights,
    plotly_values,
    state,
    wait_until_idle,
)
from tests.browser.axe import barriers
from tests.browser.conftest import Answered, Visit, visiting
from tests.browser.polling import wait_for_function
from tests.chosen import CHOSEN, SENTENCE

NEAR = 1.01 / 20_000  # weights are sent with about four decimals
ROUNDED = 5.1e-5  # four decimals are shown
THREE = 5e-4  # three decimals are shown


@pytest.fixture(scope="module")
def page(browser: Browser, address: str) -> Iterator[Page]:
    """Share one visit; each test makes its selection."""
    with visiting(browser, address) as visit:
        yield visit()


def open_map(page: Page, kind: str, layer: int, head: int | str) -> None:
    """Open a map in Heads."""
    open_tab(page, "heads")
    page.click(f".explorer [data-kind={kind}]")
    page.click(f'.wall-grid button[data-layer="{layer}"][data-head="{head}"]')


def choose(page: Page, row: int, column: int) -> None:
    """Select a query and a key in Why."""
    page.click(f".headlight-why [aria-labelledby=why-row] [data-place='{row}']")
    wait_until_idle(page)
    if page.locator(".headlight-why .products:not([open])").count():
        page.click(".headlight-why .products > summary")
    page.click(f".headlight-why .row [data-place='{column}']")
    wait_until_idle(page)


def steps(tree: BeamTree) -> list[list[int]]:
    """Return the nodes of each step, best first."""
    rows: list[list[int]] = [[] for _ in range(1 + max(node.step for node in tree.nodes))]
    for place, node in enumerate(tree.nodes):
        rows[node.step].append(place)
    return [sorted(places, key=lambda place: -tree.nodes[place].score) for places in rows]


def path_to(tree: BeamTree, place: int) -> list[int]:
    """Return the nodes from the first step to this node."""
    path: list[int] = []
    while place >= 0:
        path.insert(0, place)
        place = tree.nodes[place].parent
    return path


def assert_at(page: Page, translator: Translator, tree: BeamTree, place: int) -> None:
    """Check that the read-out shows this node's text and numbers."""
    node = tree.nodes[place]
    text = translator.target_tokenizer.decode(list(tree.path(place)))
    readout = page.text_content(".headlight-decoding .readout") or ""
    assert text in readout
    numbers = re.search(r"log probability (\S+), score (−?[\d.]+)", readout)
    assert numbers
    numbers = [float(each.replace("−", "-")) for each in numbers.groups()]
    assert numbers == pytest.approx([node.log_probability, node.score], abs=ROUNDED)


def test_arrow_keys_navigate_tree_and_dropped_hypotheses_open(
    page: Page, translator: Translator, example: Translation
) -> None:
    tree = example.tree
    finished = [place for place, node in enumerate(tree.nodes) if node.outcome == "finished"]
    best = path_to(tree, max(finished, key=lambda place: tree.nodes[place].score))
    open_tab(page, "decoding")
    page.locator(".headlight-decoding .tree").focus()
    page.keyboard.press("Home")
    assert_at(page, translator, tree, best[0])
    for place in best[1:]:
        page.keyboard.press("ArrowRight")
        assert_at(page, translator, tree, place)
    page.keyboard.press("Home")
    page.keyboard.press("End")
    assert_at(page, translator, tree, best[-1])
    page.keyboard.press("ArrowLeft")
    assert_at(page, translator, tree, best[-2])

    for _ in range(len(best) - 5):
        page.keyboard.press("ArrowLeft")
    beside = steps(tree)[3]
    below = beside[beside.index(best[3]) + 1 :]
    dropped = next(place for place in below if tree.nodes[place].outcome == "dropped")
    assert_at(page, translator, tree, best[3])
    for place in below[: below.index(dropped) + 1]:
        page.keyboard.press("ArrowDown")
        assert_at(page, translator, tree, place)
    expect(page.locator(".headlight-decoding .readout .about")).to_contain_text("Dropped")

    page.keyboard.press("Enter")
    ids = tree.path(dropped)
    expose_state(page)
    wait_for_function(
        page,
        "(ids) => !headlight.busy && headlight.translation.target.map((token) => token.id).join() === ids",
        arg=",".join(map(str, ids)),
    )
    truth = translator.translate(example.source_text, target=ids)
    for kind in KINDS:
        np.testing.assert_allclose(page_weights(page, kind), truth.attention.of(kind), atol=NEAR)
    open_map(page, "cross", 2, 4)
    np.testing.assert_allclose(plotly_values(page), truth.attention.cross[2, 4], atol=NEAR)
    open_tab(page, "decoding")  # the previous search is still shown
    expect(page.locator(".headlight-decoding .finished li")).to_have_count(len(finished))
    page.locator(".headlight-decoding .finished .link").first.click()
    wait_for_function(page, "(text) => !headlight.busy && headlight.translation.text === text", arg=example.text)


def test_back_translation_scores_are_listed_and_can_be_disabled(visit: Visit) -> None:
    page = visit(
        "#" + urlencode({"text": SENTENCE, "tab": "decoding"}),
        drawn=".headlight-decoding .finished li",
    )
    first = page.locator(".headlight-decoding .finished li").first
    expect(first).to_contain_text(CHOSEN)
    expect(first).to_contain_text("chosen")
    verdicts = page.locator(".headlight-decoding .finished li", has_text="back-translation")
    expect(verdicts).to_have_count(4)
    sums = [float(text.split("together ")[1].split()[0].replace("−", "-")) for text in verdicts.all_inner_texts()]
    assert sums == sorted(sums, reverse=True)
    rule = page.get_by_text("score + 0.3 × back-translation")
    expect(rule).to_be_visible()
    open_tab(page, "heads")
    expose_state(page)
    page.click("[aria-controls=options]")
    page.fill("#options [data-field=back_weight]", "0")
    page.press("#options [data-field=back_weight]", "Enter")
    wait_for_function(page, "(word) => !headlight.busy && !headlight.translation.text.includes(word)", arg=CHOSEN)
    open_tab(page, "decoding", selector=".finished li")
    expect(first).not_to_contain_text(CHOSEN)
    expect(verdicts).to_have_count(0)
    expect(rule).to_have_count(0)


def test_back_weight_option_is_shown_only_if_effective(visit: Visit) -> None:
    page = visit("#" + urlencode({"text": "Ich trinke ein Bier.", "model": "de-en"}))
    page.click("[aria-controls=options]")
    weight, beam = (page.locator(f"#options [data-field={name}]") for name in ("back_weight", "beam_size"))
    reason = phrases("en")["option_back_weight_off"]
    expect(weight).to_be_enabled()
    beam.fill("1")
    expect(weight).to_be_disabled()  # with one translation, nothing is reranked
    beam.fill("3")
    expect(weight).to_be_enabled()
    page.fill("#options [data-field=temperature]", "0.7")
    expect(weight).to_be_disabled()
    page.fill("#options [data-field=temperature]", "0")
    expect(weight).to_be_enabled()
    height = page.locator("#options").evaluate("options => options.offsetHeight")
    page.fill("#options [data-field=target]", "I drink a beer.")
    expect(weight).to_be_disabled()  # a forced translation is not reranked, either
    expect(page.get_by_text(reason)).to_be_visible()
    assert page.locator("#options").evaluate("options => options.offsetHeight") == height  # the note shifts nothing
    page.fill("#options [data-field=target]", "")
    expect(weight).to_be_enabled()
    expect(weight).to_have_value("0.3")


TREE, NODE = ".headlight-decoding .tree", ".headlight-decoding .node"


def visible_nodes(page: Page) -> list[int]:
    """Return the drawn nodes."""
    numbers: list[int] = page.locator(NODE).evaluate_all("(all) => all.map((node) => Number(node.dataset.node))")
    return sorted(numbers)


def assert_fits(page: Page) -> None:
    """Check that the tree fits its width and that no boxes overlap."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(
        """(tree) => {
          const all = document.querySelector(tree).getBoundingClientRect();
          const boxes = [...document.querySelectorAll(`${tree} .node`)].map((node) => node.getBoundingClientRect());
          const within = (box) => box.left >= all.left && box.right <= all.right && box.bottom <= all.bottom + 1;
          const apart = (one, two) =>
            one.right <= two.left || two.right <= one.left || one.bottom <= two.top || two.bottom <= one.top;
          return boxes.every(within) && boxes.every((one, at) => boxes.slice(at + 1).every((two) => apart(one, two)));
        }""",
        TREE,
    )


@pytest.mark.journey
def test_tree_fits_width_and_shows_requested_beam(page: Page, example: Translation) -> None:
    open_tab(page, "decoding")
    nodes = example.tree.nodes
    best = max((at for at, node in enumerate(nodes) if node.outcome == "finished"), key=lambda at: nodes[at].score)
    living = [place for place, node in enumerate(nodes) if node.outcome != "dropped"]
    page.locator(TREE).focus()
    page.keyboard.press("Home")
    assert visible_nodes(page) == living
    assert_fits(page)
    page.get_by_label("Show dropped candidates").check()
    assert visible_nodes(page) == list(range(len(nodes)))
    assert_fits(page)
    page.get_by_label("Show dropped candidates").uncheck()

    # Each token's conditional probability is shown in its box and in the read-out.
    place = path_to(example.tree, best)[2]
    chance = np.exp(nodes[place].log_probability - nodes[nodes[place].parent].log_probability)
    page.click(f'{NODE}[data-node="{place}"]')
    expect(page.locator(".headlight-decoding .readout .about")).to_contain_text(f"probability {chance:.4f}")
    assert abs(float(page.inner_text(f'{NODE}[data-node="{place}"] .numeric')) - chance) < 0.006
    assert barriers(page, ".headlight-decoding .search") == []


def test_losing_hypotheses_can_be_hidden(visit: Visit, translator: Translator) -> None:
    text = next(example.text for example in EXAMPLES if example.name == "separable")
    nodes = translator.translate(text, beam_size=4, no_repeat=4).tree.nodes
    best = max((at for at, node in enumerate(nodes) if node.outcome == "finished"), key=lambda at: nodes[at].score)
    kept_nodes = [at for at, node in enumerate(nodes) if node.outcome != "dropped" and node.step <= nodes[best].step]
    page = visit("#" + urlencode({"text": text, "tab": "decoding", "back_weight": 0}), drawn=NODE)
    hide = page.get_by_label("Hide candidates that can no longer win")
    expect(hide).to_be_visible()
    assert len(visible_nodes(page)) > len(kept_nodes)  # the search continued below the best hypothesis
    hide.check()
    assert visible_nodes(page) == kept_nodes
    hide.uncheck()
    assert len(visible_nodes(page)) > len(kept_nodes)


def test_reranked_hypotheses_can_win_until_last_one_ends(visit: Visit, answered: Answered) -> None:
    def another_ended_last(text: str) -> bool:
        answer = answered(text)
        ends = [len(each.ids) - 1 for each in answer.hypotheses]
        return ends[0] < max(ends) == max(node.step for node in answer.tree.nodes)

    text = next(each.text for each in EXAMPLES if each.model == "de-en" and another_ended_last(each.text))
    page = visit("#" + urlencode({"text": text, "tab": "decoding"}), drawn=NODE)
    expect(page.get_by_label("Hide candidates that can no longer win")).to_be_hidden()


def test_search_playback_highlights_token_in_tree_and_bars(page: Page, example: Translation) -> None:
    open_tab(page, "decoding")
    nodes, stepper = example.tree.nodes, page.locator(".headlight-decoding .stepper")
    best = max((at for at, node in enumerate(nodes) if node.outcome == "finished"), key=lambda at: nodes[at].score)
    path = path_to(example.tree, best)
    slider = stepper.locator("input")
    slider.fill("3")
    assert visible_nodes(page) == [at for at, node in enumerate(nodes) if node.outcome != "dropped" and node.step < 3]
    expect(page.locator(f"{NODE}.chosen")).to_have_attribute("data-node", str(path[2]))
    stepper.get_by_role("button", name="Next step").click()
    expect(stepper).to_contain_text(f"4 / {len(steps(example.tree))}")
    expect(page.locator(f"{NODE}.chosen")).to_have_attribute("data-node", str(path[3]))
    stepper.get_by_role("button", name="Play the search").click()
    wait_for_function(page, "(slider) => slider.valueAsNumber >= 6", arg=slider.element_handle())
    stepper.locator(".round").nth(2).click()  # the player has stopped
    expect(stepper.get_by_role("button", name="Play the search")).to_be_visible()
    here = int(slider.input_value())
    expect(page.locator(f"{NODE}.chosen")).to_have_attribute("data-node", str(path[min(here, len(path)) - 1]))
    slider.fill(str(len(steps(example.tree))))

    page.locator(".headlight-decoding details summary").click()
    row = page.locator(".headlight-decoding .sure tbody tr")
    row.nth(4).hover()
    expect(page.locator(f"{NODE}.lit")).to_have_attribute("data-node", str(path[4]))
    page.hover(f'{NODE}[data-node="{path[6]}"]')
    expect(row.nth(6)).to_have_class("lit")
    page.click(f'{NODE}[data-node="{path[1]}"]')
    page.mouse.move(640, 5)
    expect(row.nth(1)).to_have_class("lit")
    opacity = "document.querySelector('.headlight-decoding .chart').data[0].marker.opacity"
    wait_for_function(page, f"() => {opacity}.indexOf(1) === 1 && {opacity}.lastIndexOf(1) === 1")
    page.locator(".headlight-decoding details summary").click()


def test_tree_is_vertical_on_chinese_phone(visit: Visit) -> None:
    page = visit(width=360, height=780, locale="zh-CN", color_scheme="dark", has_touch=True)
    open_tab(page, "decoding")
    assert_fits(page)
    tops = [(page.locator(NODE).nth(place).bounding_box() or {})["y"] for place in (0, 1, 4)]
    assert tops[0] == tops[1] < tops[2]  # the four hypotheses of a step are in one row
    page.locator(".headlight-decoding .choice").first.tap()
    expect(page.locator(".headlight-decoding .choice input").first).to_be_checked()  # a tap takes effect later
    assert_fits(page)
    assert barriers(page, ".headlight-decoding .search") == []


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def column(page: Page, table: str, place: int) -> np.ndarray:
    cells = page.locator(f".headlight-why .{table} tbody tr td.numeric:nth-of-type({place})").all_inner_texts()
    return np.array([number(cell) for cell in cells])


def total(page: Page, table: str, place: int) -> float:
    return number(page.inner_text(f".headlight-why .{table} tfoot td:nth-of-type({place})"))


@pytest.mark.journey
def test_products_sum_to_score_and_softmax_matches_weights(
    page: Page, translator: Translator, example: Translation
) -> None:
    head, row, key = 6, 3, 5
    path = "decoder.layers.1.cross_attention"
    probes = [f"{path}.{name}" for name in ("queries", "keys", "scores", "mixed")]
    target_ids = tuple(token.id for token in example.target_tokens)
    seen = translator.translate(example.source_text, target=target_ids, capture=tuple(probes)).captured
    queries, keys, scores, mixed = (seen[probe][head] for probe in probes)
    open_map(page, "cross", 1, head)
    weights = plotly_values(page)

    open_tab(page, "why")
    choose(page, row, key)
    assert (state(page, "row"), state(page, "column")) == (row, key)
    names = (example.target_tokens[row].text.strip(), example.source_tokens[key].text.strip())
    expect(page.locator(".headlight-why h2")).to_have_text(f"Why does {names[0]} attend to {names[1]}?")
    page.click(".headlight-why .all-numbers summary")
    table = page.locator(".headlight-why .all-numbers tbody tr")
    expect(table).to_have_count(len(queries[row]))
    dimensions = np.array([[number(cell) for cell in line.split("\t")] for line in table.all_inner_texts()])
    np.testing.assert_array_equal(dimensions[:, 0], np.arange(len(queries[row])))
    np.testing.assert_allclose(dimensions[:, 1], queries[row], atol=1e-4)
    np.testing.assert_allclose(dimensions[:, 2], keys[key], atol=1e-4)
    np.testing.assert_allclose(dimensions[:, 3], dimensions[:, 1] * dimensions[:, 2], atol=5e-4)
    page.click(".headlight-why .all-numbers summary")

    # The first cell has the products and the last one a bar; between them are sum, score, power and weight.
    sums, scaled, powers, shares = (column(page, "row", place) for place in (2, 3, 4, 5))
    assert sums[key] == pytest.approx(dimensions[:, 3].sum(), abs=len(dimensions) * ROUNDED + THREE)
    np.testing.assert_allclose(scaled, sums / np.sqrt(len(dimensions)), atol=2 * THREE)
    np.testing.assert_allclose(scaled, scores[row], atol=2 * THREE)
    np.testing.assert_allclose(powers, np.exp(scaled), rtol=2 * THREE, atol=THREE)
    np.testing.assert_allclose(shares, powers / total(page, "row", 4), atol=1e-3)
    np.testing.assert_allclose(shares, weights[row], atol=ROUNDED + NEAR)
    assert powers.sum() == pytest.approx(total(page, "row", 4), abs=len(powers) * THREE)
    assert shares.sum() == pytest.approx(1, abs=len(shares) * ROUNDED)
    assert total(page, "row", 5) == 1

    moved = column(page, "stream", 2)
    matrix = translator.model.get_submodule(path).output.weight.detach().numpy()  # type: ignore[union-attr,operator]
    width = mixed.shape[-1]
    added = matrix[:, head * width : (head + 1) * width] @ mixed[row]
    parts = decompose_logit(translator, translator.translate(example.source_text, target=target_ids), row).terms
    (own,) = (part.effects[0] for part in parts if (part.kind, part.layer, part.head) == ("cross", 1, head))
    assert total(page, "stream", 2) == pytest.approx(own, abs=2 * THREE)
    assert moved.sum() == pytest.approx(own, abs=(len(moved) + 1) * THREE)
    strip = page.locator(".headlight-why .stream tfoot canvas")
    strip.hover(position={"x": 1, "y": 5})
    expect(page.locator(".value-tip")).to_have_text(f"0: {added[0]:.4f}".replace("-", "−"))


def test_masked_keys_are_labelled_masked(page: Page, example: Translation) -> None:
    open_map(page, "decoder", 0, 0)
    open_tab(page, "why")
    choose(page, 1, 4)
    expect(page.locator(".headlight-why h2")).to_contain_text("may not look at")
    expect(page.locator(".headlight-why .answer .note")).to_contain_text("Masked")
    masked = page.locator(".headlight-why .row tr.masked")
    expect(masked).to_have_count(len(example.target_tokens) - 2)
    expect(masked.first.locator("td.hatch")).to_have_text("masked")
    expect(masked.first.locator("td.numeric").last).to_have_text("0.0000")


def test_average_offers_nearest_head(page: Page, example: Translation) -> None:
    open_tab(page, "heads")
    page.check('#panel-heads [data-field="averages"]')
    open_map(page, "cross", 1, "mean")
    choose_panel(page, "why")
    layer = example.attention.cross[1]  # [head, query, key]
    nearest = int(np.abs(layer - layer.mean(axis=0)).sum(axis=(1, 2)).argmin())
    page.get_by_role("button", name=f"Use the nearest head: Layer 2 · Head {nearest + 1}").click()
    wait_until_idle(page)
    expect(page.locator(".headlight-why .row tfoot td.numeric").last).to_have_text("1.0000")
    assert (state(page, "layer"), state(page, "head")) == (1, nearest)


def test_pressing_selected_kind_keeps_query_and_key(page: Page) -> None:
    open_map(page, "cross", 1, 6)
    open_tab(page, "why")
    choose(page, 2, 4)
    page.click(".headlight-why [data-kind=cross]")
    assert (state(page, "row"), state(page, "column")) == (2, 4)
    page.click(".headlight-why .stream [data-place='5']")
    wait_until_idle(page)
    assert (state(page, "row"), state(page, "column")) == (2, 5)
    page.locator(".headlight-why .row [data-place='5']").focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    wait_until_idle(page)
    assert (state(page, "row"), state(page, "column")) == (2, 4)
    page.locator(".headlight-why [role=radio][aria-checked=true]").press("ArrowRight")
    wait_until_idle(page)
    assert state(page, "row") == 3
    expect(page.locator(".headlight-why [role=radio]:focus")).to_have_attribute("data-place", "3")


def test_tree_is_clickable_after_answer_without_tree(page: Page, translator: Translator, example: Translation) -> None:
    request = (
        "dispatchEvent(new CustomEvent('headlight-request', { detail: { beam_size: 1, prefix: null, target: null } }))"
    )
    open_tab(page, "decoding")
    page.evaluate(request)
    page.locator(".headlight-decoding .none .go").click()  # beam search again
    tree = example.tree
    expect(page.locator(".headlight-decoding .finished li")).to_have_count(
        sum(node.outcome == "finished" for node in tree.nodes)
    )
    wait_until_idle(page)
    place = steps(tree)[2][1]
    readout = page.locator(".headlight-decoding .readout .about")
    before = readout.inner_text()
    page.click(f'{NODE}[data-node="{place}"]')
    expect(readout).not_to_have_text(before)
    assert_at(page, translator, tree, place)


@pytest.mark.journey
def test_account_sums_to_logit_difference_and_names_rival(
    page: Page, example: Translation, translator: Translator
) -> None:
    page.set_viewport_size({"width": 1440, "height": 1000})
    open_tab(page, "word")
    place = next(place for place, token in enumerate(example.target_tokens) if token.text.strip() == "sleeping")
    page.click(".headlight-word .pick button:has-text('sleeping')")
    wait_until_idle(page)
    rivals = [other for other in example.target_tokens[place].alternatives if other.text.strip() != "sleeping"]
    for rival in rivals[:2]:
        page.click(f".account .segments button:has-text('{rival.text.strip()}')")
        wait_until_idle(page)
        expect(page.locator(".account h2")).to_have_text(f"Why sleeping and not {rival.text.strip()}?")
        account = word_account(translator, example, place, rival.id)
        sums = [
            float(text.replace("−", "-").lstrip("+= ")) for text in page.locator(".account .sums b").all_inner_texts()
        ]
        expected = [sum(account.source), sum(account.prefix), account.constants, account.lead]
        assert sums == pytest.approx(expected, abs=0.06)  # rounded so that the parts sum to the total
        assert sum(sums[:3]) == pytest.approx(sums[3], abs=1e-6)
        bars = [float(text.replace("−", "-")) for text in page.locator(".staircase .number").all_text_contents()]
        assert sum(bars[:-1]) == pytest.approx(bars[-1], abs=0.02 * len(bars))
    page.set_viewport_size({"width": 390, "height": 844})
    rows = page.locator(".staircase .account-rows .row")
    expect(rows).to_have_count(len(example.source_tokens) + place + 1 + 2)
    page.set_viewport_size({"width": 1440, "height": 1000})


def test_account_against_a_typed_rival_is_in_the_address(
    visit: Visit, example: Translation, translator: Translator
) -> None:
    page = visit()
    open_tab(page, "word")
    page.click(".headlight-word .pick button:has-text('saw')")
    wait_until_idle(page)
    place = [token.text.strip() for token in example.target_tokens].index("saw")
    assert state(page, "row") == place
    field = page.locator(".account .rivals input")
    for text, message in (
        ("zebra", "“zebra” is 2 tokens: ze + bra."),
        ("狗", "has no “狗”"),
        ("saw", "the word itself"),
    ):
        field.fill(text)
        field.press("Enter")
        expect(page.locator(".account .rivals .error")).to_contain_text(message)
    (rival,) = translator.target_tokenizer.encode("now")
    field.fill(" now ")
    field.press("Enter")
    expect(page.locator(".account h2")).to_have_text("Why saw and not now?")
    expect(page.locator(".account .rivals .error")).to_be_empty()
    account = word_account(translator, example, place, rival)
    lead = page.locator(".account .sums b").last
    expect(lead).to_have_text(f"= {account.lead:+.2f}")
    pressed = page.locator(".account .rivals [aria-pressed=true]")
    expect(pressed).to_have_text("now < 0.001")
    wait_for_function(
        page, "(text) => location.hash.includes(text)", arg=f"row={place}&word={place}&rival={place}.{rival}"
    )
    again = visit(page.evaluate("location.hash"), drawn=".account .sums")
    expect(again.locator(".account h2")).to_have_text("Why saw and not now?")
    expect(again.locator(".account .sums b").last).to_have_text(f"= {account.lead:+.2f}")
    again.click(".headlight-word .pick button:has-text('table')")  # the rival was that of another word
    expect(again.locator(".account h2")).to_contain_text("Why table and not")
    expect(again.locator(".account .rivals [aria-pressed=true]")).not_to_contain_text("now")


def test_account_of_a_word_opens_into_heads_and_the_words_they_read(
    page: Page, example: Translation, translator: Translator
) -> None:
    open_tab(page, "word")
    texts = [token.text.strip() for token in example.target_tokens]
    place, column = texts.index("sleeping"), [token.text.strip() for token in example.source_tokens].index("schläft")
    page.click(".headlight-word .pick button:has-text('sleeping')")
    wait_until_idle(page)
    page.locator(".account .segments button").first.click()  # the most probable rival
    wait_until_idle(page)
    heads = account_by_head(translator, example, place, find_likeliest_rival(example, place))[:, :, column]
    page.click(".account-heads .segments button:has-text('schläft')")
    listed = page.locator(".opened > div:nth-child(1) .row .numeric")
    expect(listed).to_have_count(6)
    numbers = [float(text.replace("−", "-")) for text in listed.all_inner_texts()]
    assert sum(numbers) == pytest.approx(heads.sum(), abs=0.006)
    layer, head = (int(index) for index in np.unravel_index(np.abs(heads).argmax(), heads.shape))
    assert numbers[0] == pytest.approx(heads[layer, head], abs=0.011)
    page.locator(".opened > div:nth-child(1) .row").first.click()
    read = page.locator(".opened > div:nth-child(2) button").first
    expect(read).to_contain_text("schläft")
    read.click()
    expect(page.locator(".translate .headline").first).to_contain_text(f"head {head + 1} of layer {layer + 1}")
    assert [state(page, name) for name in ("tab", "kind", "row", "column")] == ["heads", "cross", place, column]


@pytest.mark.journey
def test_score_is_decomposed_and_parts_are_ablated(page: Page, translator: Translator, example: Translation) -> None:
    open_tab(page, "why")
    cell = Cell("cross", state(page, "layer"), state(page, "head"), 6, 9)
    choose(page, cell.row, cell.column)
    page.wait_for_selector(".score-parts tfoot")
    parts = score_parts(translator, example, cell, "key")
    sent = page.locator(".score-table tbody tr td:nth-of-type(2)").all_inner_texts()
    values = [number(text) for text in sent]
    assert values[:-1] == pytest.approx([part.value for part in parts.parts[: len(values) - 1]], abs=6e-3)
    assert sum(values) == pytest.approx(parts.score, abs=0.05)
    page.click(".score-links button >> nth=0")
    expect(page.locator(".score-table tbody tr")).to_have_count(len(parts.parts))
    page.click(".score-links button >> nth=1")
    first = [part for part in parts.parts if part.writer != "biases"][:3]
    without = weight_without(translator, example, cell, "key", first)
    lines = page.locator(".score-parts .measured li")
    expect(lines).to_have_count(3)
    for line, weight in zip(lines.all_inner_texts(), without[1:], strict=True):
        assert f"{weight:.3f}" in line
    page.click(".score-parts .segments button >> nth=1")  # the side of the query
    page.wait_for_selector(".score-parts tfoot")
    query = score_parts(translator, example, cell, "query")
    expect(page.locator(".score-table tfoot td >> nth=1")).to_have_text(f"+{query.score:.2f}")
    assert barriers(page, ".score-parts") == []
