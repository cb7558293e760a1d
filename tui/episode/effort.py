"""What the model's calls came to, in a few characters: tokens, seconds and money, for the screen."""

from __future__ import annotations

from agent.evaluation.runs.cost import Tokens
from tui.episode.state import CallTotals


def counted(effort: CallTotals) -> Tokens:
    """The tokens of ``effort``, of which `agent.evaluation.runs.cost` says what they cost."""
    return Tokens(effort.prompt_tokens, effort.completion_tokens, effort.cached)


def tokens(number: int) -> str:
    """A number of tokens to two or three digits: 980, 4.1k, 123k, 1.2M."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}" if number < 100 * size else f"{number // size}{unit}"
    return str(number)


def seconds(number: float) -> str:
    """A time: 1.8 s, 95 s, 12 min."""
    return f"{number:.1f} s" if number < 10 else f"{number:.0f} s" if number < 600 else f"{number / 60:.0f} min"
