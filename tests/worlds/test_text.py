"""Text that is made safe to show, and shares as people read them."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.evaluation.analysis.statistics import wilson
from housequest.agent.evaluation.render.table import percent, percents
from housequest.worlds.text import percentage, printable


@given(st.integers(1, 10**9).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))), st.sampled_from((0, 1)))
def test_only_none_of_it_is_0_and_only_all_of_it_100(counted: tuple[int, int], places: int) -> None:
    some, of = counted
    told = float(percentage(some / of, places))
    assert (told == 0) == (some == 0)
    assert (told == 100) == (some == of)
    assert abs(told - 100 * some / of) <= 10**-places


@pytest.mark.parametrize(("won", "told"), [(0, "0.0 %"), (1, "0.1 %"), (9_999, "99.9 %"), (10_000, "100.0 %")])
def test_a_report_says_so_too(won: int, told: str) -> None:
    assert percent(won / 10_000) == told
    low, _, high = percents(wilson(won, 10_000)).removesuffix(" %").partition("-")
    assert (low == "0.0") == (won == 0)
    assert (high == "100.0") == (won == 10_000)


_SHOWN = {"\n", "\u200c", "\u200d"}
_NEVER_SHOWN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@given(st.text())
def test_no_control_character_is_left_in_what_is_printable(text: str) -> None:
    assert all(unicodedata.category(one) not in _NEVER_SHOWN or one in _SHOWN for one in printable(text))
