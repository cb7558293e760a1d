"""What tokens cost: computed by hand."""

from __future__ import annotations

import pytest

from housequest.agent.config import Prices
from housequest.agent.evaluation.runs.usage import Tokens, cost, money

PRICES = Prices(input=2, cached=0.5, output=8)


@pytest.mark.parametrize(
    ("tokens", "prices", "expected"),
    [
        (Tokens(1_000_000, 500_000), PRICES, 2 + 4),
        (Tokens(1_000_000, 0, cached=600_000), PRICES, 0.4 * 2 + 0.6 * 0.5),
        (Tokens(1_000_000, 0, cached=600_000), Prices(input=2, output=8), 2.0),
        (Tokens(10, 0, cached=99), PRICES, 10 * 0.5 / 1_000_000),
        (Tokens(), PRICES, None),
    ],
)
def test_a_cache_is_cheaper_and_what_is_not_known_is_fresh(tokens: Tokens, prices: Prices, expected: float | None) -> None:
    assert cost(tokens, prices) == (None if expected is None else pytest.approx(expected))


def test_fresh_and_cached_add_up() -> None:
    assert (Tokens(10, cached=4).fresh, Tokens(10).fresh, Tokens(10, cached=11).fresh) == (6, 10, 0)
    assert (Tokens(10, cached=4).cached_share, Tokens(10).cached_share, Tokens(0, cached=0).cached_share) == (0.4, None, None)


def test_an_amount_keeps_the_digits_that_say_something() -> None:
    assert [money(amount) for amount in (12.345, 0.0134, 0.00042, 0)] == ["12.35", "0.013", "0.00042", "0"]
