"""What the model's calls came to, in a few characters: tokens, seconds and money, for the screen."""

from __future__ import annotations

from agent.config import Prices
from tui.state import Effort


def cost(effort: Effort, prices: Prices) -> float | None:
    """What ``effort`` costs at ``prices``, in their currency; None where no tokens were counted.

    Prompt tokens of which no cache is known count as fresh, so it is rather too much than too little.
    """
    if not (effort.prompt_tokens or effort.completion_tokens):
        return None
    cached = min(effort.cached or 0, effort.prompt_tokens)
    at_cached = prices.input if prices.cached is None else prices.cached
    fresh = effort.prompt_tokens - cached
    return (fresh * prices.input + cached * at_cached + effort.completion_tokens * prices.output) / 1_000_000


def cached_share(effort: Effort) -> float | None:
    """The share of the prompt's tokens that a cache served, from 0 to 1; None where it is not known."""
    if effort.cached is None or not effort.prompt_tokens:
        return None
    return min(effort.cached / effort.prompt_tokens, 1.0)


def tokens(number: int) -> str:
    """A number of tokens to two or three digits: 980, 4.1k, 123k, 1.2M."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}" if number < 100 * size else f"{number // size}{unit}"
    return str(number)


def seconds(number: float) -> str:
    """A time: 1.8 s, 95 s, 12 min."""
    return f"{number:.1f} s" if number < 10 else f"{number:.0f} s" if number < 600 else f"{number / 60:.0f} min"


def money(amount: float) -> str:
    """An amount, small ones to the digits that say something: 1.25, 0.013, 0.00042."""
    return f"{amount:.2f}" if amount >= 1 else f"{amount:.3f}" if amount >= 0.01 else f"{amount:.5f}" if amount else "0"
