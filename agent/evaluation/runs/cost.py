"""What a model's tokens cost, at the prices that its user has set."""

from __future__ import annotations

from dataclasses import dataclass

from agent.config import Prices


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens as the model counted them. ``cached`` of the ``prompt``'s were served by a cache; None where none was told of."""

    prompt: int = 0
    completion: int = 0
    cached: int | None = None

    @property
    def fresh(self) -> int:
        """The prompt's tokens that no cache served; where none was told of, all of them."""
        return self.prompt - min(self.cached or 0, self.prompt)

    @property
    def cached_share(self) -> float | None:
        """The share of the prompt's tokens that a cache served, from 0 to 1; None where it is not known."""
        return None if self.cached is None or not self.prompt else min(self.cached / self.prompt, 1.0)


def cost(tokens: Tokens, prices: Prices) -> float | None:
    """What ``tokens`` cost at ``prices``, in their currency; None where none were counted.

    Prompt tokens of which no cache is known count as fresh, so it is rather too much than too little.
    """
    if not (tokens.prompt or tokens.completion):
        return None
    at_cached = prices.input if prices.cached is None else prices.cached
    cached = tokens.prompt - tokens.fresh
    return (tokens.fresh * prices.input + cached * at_cached + tokens.completion * prices.output) / 1_000_000


def money(amount: float) -> str:
    """An amount, small ones to the digits that say something: 1.25, 0.013, 0.00042."""
    if amount >= 1:
        return f"{amount:.2f}"
    return f"{amount:.3f}" if amount >= 0.01 else f"{amount:.5f}" if amount else "0"
