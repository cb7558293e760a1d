"""The totals of an agent's calls, in a few characters and in money."""

from __future__ import annotations

import pytest

from housequest.agent.config import Prices
from housequest.agent.evaluation.runs.usage import Tokens, cost, money
from housequest.tui.episode.stage import seconds, token_text


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (980, "980"), (4_120, "4.1k"), (99_949, "99.9k"), (123_456, "123k"), (1_240_000, "1.2M"), (250_000_000, "250M")],
)
def test_tokens_are_short(number: int, text: str) -> None:
    assert token_text(number) == text


def test_times_and_amounts_are_short() -> None:
    assert [seconds(number) for number in (0.04, 9.94, 95.2, 720)] == ["0.0 s", "9.9 s", "95 s", "12 min"]
    assert [money(amount) for amount in (0, 0.00042, 0.0132, 12.345)] == ["0", "0.00042", "0.013", "12.35"]


def test_cached_tokens_cost_their_own_price() -> None:
    tokens = Tokens(1_000_000, 500_000, cached=400_000)
    assert cost(tokens, Prices(input=1, cached=0.5, output=4)) == pytest.approx(0.6 + 0.2 + 2)
    assert cost(tokens, Prices(input=1, output=4)) == pytest.approx(3)
    assert cost(Tokens(1_000_000), Prices(input=1, cached=0, output=4)) == pytest.approx(1)
    assert cost(Tokens(), Prices(input=1, output=4)) is None


def test_the_cached_share_is_told_only_where_it_is_known() -> None:
    assert Tokens(200).cached_share is None
    assert Tokens(cached=0).cached_share is None
    assert Tokens(200, cached=50).cached_share == 0.25
    assert Tokens(200, cached=900).cached_share == 1
