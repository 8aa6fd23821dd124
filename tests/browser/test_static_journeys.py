"""Tests of the page, run again on the folder of `headlight static`: same steps, same expectations, no server.

The folder has both directions of a pair, so it reranks and reads back, as the app does.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from headlight import Translator
from headlight.model.phrases import phrases
from headlight.model.records import Translation
from headlight.model.translate.back_translation import back_translate
from headlight.viz.service.examples import EXAMPLES
from headlight.viz.service.payload import make_reliability_values
from headlight.viz.settings import MODELS
from tests.browser.acting import state, switch_language, translate
from tests.browser.conftest import Answered
from tests.browser.polling import wait_for_function
from tests.browser.test_exporting import (
    test_exported_cells_are_square_for_one_and_two_heads,
    test_exported_images_show_same_numbers_at_print_size,
    test_saved_page_works_offline_with_same_numbers,
)
from tests.browser.test_heads import (
    test_arrow_keys_step_through_heads,
    test_averages_and_maxima_match_heads,
    test_click_pins_and_escape_unpins,
    test_comparison_shows_difference_of_two_heads,
    test_every_head_matches_model,
    test_hidden_special_tokens_are_noted_and_rescaling_is_optional,
    test_line_hover_fades_other_lines,
    test_number_view_shows_same_weights,
    test_thumbnail_hover_previews_and_leave_restores_selection,
    test_token_hover_shades_attended_tokens_and_shows_weight,
    test_word_rows_sum_to_one,
    translation,
)
from tests.browser.test_newcomers import (
    test_direction_offer_disappears_while_typing,
    test_direction_offer_is_translated_to_chinese,
    test_own_translation_is_scored_without_reliability_grade,
    test_wrong_source_language_offers_other_direction,
)
from tests.browser.test_page import (
    test_broken_permalink_restores_valid_parts,
    test_browser_language_is_default_and_can_be_switched,
    test_page_never_scrolls_horizontally,
    test_permalink_restores_all_state,
    test_theme_follows_system_and_can_be_switched,
)
from tests.browser.test_player import (
    test_arrow_keys_scrub_focused_slider,
    test_player_shows_written_tokens_and_highlights_row,
    test_space_toggles_playback_and_end_shows_all,
)
from tests.browser.test_quiz import (
    test_a_reader_answers_the_first_form_and_the_browser_remembers_it,
    test_an_entry_survives_a_change_of_language,
    test_questions_fit_a_phone,
    test_results_explain_wrong_answers_and_three_questions_come_after_two_days,
)
from tests.browser.test_search_and_why import (
    test_account_of_a_word_opens_into_heads_and_the_words_they_read,
    test_account_sums_to_logit_difference_and_names_rival,
    test_back_translation_scores_are_listed_and_can_be_disabled,
    test_back_weight_option_is_shown_only_if_effective,
)
from tests.browser.test_see import (
    test_compared_effects_match_model,
    test_effect_map_matches_model,
    test_encoder_effects_are_on_the_clicked_word,
    test_reliability_reasons_open_by_keyboard,
    test_word_effects_against_a_typed_rival_are_in_the_address,
    test_word_effects_compare_with_a_rival_and_measure_the_shown_head,
    test_word_effects_list_predicted_and_measured_values,
)
from tests.browser.test_static import Host, host, write_folder
from tests.browser.test_static import visit as static_visit
from tests.browser.test_translating import (
    test_empty_sentence_shows_message_and_keeps_content,
    test_enter_submits_typed_text,
    test_first_visit_shows_model_translation,
    test_selected_alternative_continues_translation,
    test_too_long_sentence_stays_in_field_and_error_names_limit,
)

pytestmark = pytest.mark.slow
FIXTURES = (host, translation)
MODEL, REVERSE = "de-en", "en-de"
TESTS = (
    test_a_reader_answers_the_first_form_and_the_browser_remembers_it,
    test_account_of_a_word_opens_into_heads_and_the_words_they_read,
    test_account_sums_to_logit_difference_and_names_rival,
    test_an_entry_survives_a_change_of_language,
    test_arrow_keys_scrub_focused_slider,
    test_arrow_keys_step_through_heads,
    test_averages_and_maxima_match_heads,
    test_back_translation_scores_are_listed_and_can_be_disabled,
    test_back_weight_option_is_shown_only_if_effective,
    test_broken_permalink_restores_valid_parts,
    test_browser_language_is_default_and_can_be_switched,
    test_click_pins_and_escape_unpins,
    test_compared_effects_match_model,
    test_comparison_shows_difference_of_two_heads,
    test_direction_offer_disappears_while_typing,
    test_direction_offer_is_translated_to_chinese,
    test_effect_map_matches_model,
    test_empty_sentence_shows_message_and_keeps_content,
    test_encoder_effects_are_on_the_clicked_word,
    test_enter_submits_typed_text,
    test_every_head_matches_model,
    test_exported_cells_are_square_for_one_and_two_heads,
    test_exported_images_show_same_numbers_at_print_size,
    test_first_visit_shows_model_translation,
    test_hidden_special_tokens_are_noted_and_rescaling_is_optional,
    test_line_hover_fades_other_lines,
    test_number_view_shows_same_weights,
    test_own_translation_is_scored_without_reliability_grade,
    test_page_never_scrolls_horizontally,
    test_permalink_restores_all_state,
    test_player_shows_written_tokens_and_highlights_row,
    test_questions_fit_a_phone,
    test_reliability_reasons_open_by_keyboard,
    test_results_explain_wrong_answers_and_three_questions_come_after_two_days,
    test_saved_page_works_offline_with_same_numbers,
    test_selected_alternative_continues_translation,
    test_space_toggles_playback_and_end_shows_all,
    test_theme_follows_system_and_can_be_switched,
    test_thumbnail_hover_previews_and_leave_restores_selection,
    test_token_hover_shades_attended_tokens_and_shows_weight,
    test_too_long_sentence_stays_in_field_and_error_names_limit,
    test_word_effects_against_a_typed_rival_are_in_the_address,
    test_word_effects_compare_with_a_rival_and_measure_the_shown_head,
    test_word_effects_list_predicted_and_measured_values,
    test_word_rows_sum_to_one,
    test_wrong_source_language_offers_other_direction,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("static"), f"{MODEL},{REVERSE},toy")


@pytest.fixture(scope="module")
def address(host: Host) -> str:
    return host.address


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(MODELS / MODEL, "cpu")


@pytest.fixture(scope="module")
def reverse() -> Translator:
    return Translator.load(MODELS / REVERSE, "cpu")


@pytest.fixture(scope="module")
def answered(translator: Translator, reverse: Translator) -> Answered:
    def answer(text: str, beam_size: int = 4, **more: Any) -> Translation:
        options = {"beam_size": beam_size, "no_repeat": 4, **more}
        alone = beam_size == 1 or "target" in more
        return translator.translate(text, **options, way_back=None if alone else reverse)

    return answer


@pytest.fixture(scope="module")
def example(answered: Answered) -> Translation:
    return answered(EXAMPLES[0].text)


SENTENCES = (  # one that is probably right, a number, a name, another language
    "Die Katze trinkt heute keine Milch.",
    "Der Zug nach Köln fährt um halb acht von Gleis drei ab.",
    "Frau Przybylski hat mir zwölf Euro fünfzig gegeben.",
    "I have lost my keys and my phone.",
)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_grade_and_back_translation_are_those_of_python(
    browser: Browser, host: Host, answered: Answered, reverse: Translator, language: str
) -> None:
    with static_visit(browser, host.address) as page:
        switch_language(page, language)
        for text in SENTENCES:
            expected = answered(text)
            judged = expected.read_back(back_translate(reverse, expected))
            assert judged is not None
            assert translate(page, text) == expected.text
            wait_for_function(page, "() => window.headlight.translation.reliability.back !== null")
            values = json.loads(json.dumps(make_reliability_values(judged)))
            own = state(page, "translation")["reliability"]
            assert own["probability"] == pytest.approx(values["probability"], abs=1e-3)
            assert own | {"probability": 0} == values | {"probability": 0}
            words = phrases(language)
            expect(page.locator(".judgement .grade")).to_have_text(words[f"reliable_{judged.grade}"])
            percent = round(100 * (judged.probability or 0))
            expect(page.locator(".judgement .of-100")).to_have_text(words["reliable_about"].format(right=percent))
            if not page.locator(".judgement[open]").count():
                page.locator(".judgement summary").click()
            expect(page.locator(".judgement .back bdi").first).to_have_text(judged.back_translation or "")
