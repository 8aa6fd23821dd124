"""Tests of the page, run again on the folder of `headlight static`: same steps, same expectations, no server.

The static page has no reverse model, so it neither reranks nor grades.
"""

from __future__ import annotations

from typing import Any

import pytest

from headlight import Translator
from headlight.model.records import Translation
from headlight.viz.service.examples import EXAMPLES
from headlight.viz.settings import MODELS
from tests.browser.conftest import Answered
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
from tests.browser.test_search_and_why import (
    test_account_of_a_word_opens_into_heads_and_the_words_they_read,
    test_account_sums_to_logit_difference_and_names_rival,
)
from tests.browser.test_see import (
    test_compared_effects_match_model,
    test_effect_map_matches_model,
    test_encoder_effects_are_on_the_clicked_word,
    test_word_effects_against_a_typed_rival_are_in_the_address,
    test_word_effects_compare_with_a_rival_and_measure_the_shown_head,
    test_word_effects_list_predicted_and_measured_values,
)
from tests.browser.test_static import Host, folder, host
from tests.browser.test_translating import (
    test_empty_sentence_shows_message_and_keeps_content,
    test_enter_submits_typed_text,
    test_first_visit_shows_model_translation,
    test_selected_alternative_continues_translation,
    test_too_long_sentence_stays_in_field_and_error_names_limit,
)

pytestmark = pytest.mark.slow
FIXTURES = (folder, host, translation)
TESTS = (
    test_account_of_a_word_opens_into_heads_and_the_words_they_read,
    test_account_sums_to_logit_difference_and_names_rival,
    test_arrow_keys_scrub_focused_slider,
    test_arrow_keys_step_through_heads,
    test_averages_and_maxima_match_heads,
    test_broken_permalink_restores_valid_parts,
    test_browser_language_is_default_and_can_be_switched,
    test_click_pins_and_escape_unpins,
    test_compared_effects_match_model,
    test_comparison_shows_difference_of_two_heads,
    test_effect_map_matches_model,
    test_empty_sentence_shows_message_and_keeps_content,
    test_encoder_effects_are_on_the_clicked_word,
    test_enter_submits_typed_text,
    test_every_head_matches_model,
    test_first_visit_shows_model_translation,
    test_hidden_special_tokens_are_noted_and_rescaling_is_optional,
    test_line_hover_fades_other_lines,
    test_number_view_shows_same_weights,
    test_page_never_scrolls_horizontally,
    test_permalink_restores_all_state,
    test_player_shows_written_tokens_and_highlights_row,
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
)


@pytest.fixture(scope="module")
def address(host: Host) -> str:
    return host.address


@pytest.fixture(scope="module")
def answered() -> Answered:
    translator = Translator.load(MODELS / "de-en", "cpu")

    def answer(text: str, beam_size: int = 4, **more: Any) -> Translation:
        return translator.translate(text, beam_size=beam_size, **{"no_repeat": 4, **more})

    return answer


@pytest.fixture(scope="module")
def example(answered: Answered) -> Translation:
    return answered(EXAMPLES[0].text)
