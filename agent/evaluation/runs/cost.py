"""What tokens cost at the user's prices."""

from __future__ import annotations

from dataclasses import dataclass

from housequest.agent.config import Prices


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens as the model counted them. ``cached`` of the prompt tokens came from a cache; None where none were reported."""

    prompt: int = 0
    completion: int = 0
    cached: int | None = None

    def __add__(self, other: Tokens) -> Tokens:
        cached = None if self.cached is other.cached is None else (self.cached or 0) + (other.cached or 0)
        return Tokens(self.prompt + other.prompt, self.completion + other.completion, cached)

    @property
    def fresh(self) -> int:
        """Prompt tokens not served by a cache; all of them where no cache was reported."""
        return self.prompt - min(self.cached or 0, self.prompt)

    @property
    def cached_share(self) -> float | None:
        """The share of prompt tokens that a cache served, in [0, 1]; None where unknown."""
        return None if self.cached is None or not self.prompt else min(self.cached / self.prompt, 1.0)


def cost(tokens: Tokens, prices: Prices) -> float | None:
    """The cost of ``tokens`` in the currency of ``prices``, an upper bound without cache figures; None of no tokens."""
    if not (tokens.prompt or tokens.completion):
        return None
    at_cached = prices.input if prices.cached is None else prices.cached
    cached = tokens.prompt - tokens.fresh
    return (tokens.fresh * prices.input + cached * at_cached + tokens.completion * prices.output) / 1_000_000


def money(amount: float) -> str:
    """An amount with as many digits as matter: 1.25, 0.013, 0.00042."""
    if amount >= 1:
        return f"{amount:.2f}"
    return f"{amount:.3f}" if amount >= 0.01 else f"{amount:.5f}" if amount else "0"
