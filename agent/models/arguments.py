"""What every model checks before a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent.models.base import Bias, Capabilities
from worlds.errors import Unsupported


def refuse_unsupported(
    model: str,
    capabilities: Capabilities,
    *,
    top_logprobs: int = 0,
    choices: Sequence[str] | None = None,
    schema: Mapping[str, Any] | None = None,
    bias: Bias | None = None,
) -> None:
    """Raise ``Unsupported`` when an argument of ``complete`` asks for what ``capabilities`` denies."""
    asked = {
        "log-probabilities": top_logprobs > 0 and not capabilities.log_probabilities,
        "a choice among given texts": choices is not None and not capabilities.choices,
        "a reply by a schema": schema is not None and not capabilities.schema,
        "a bias on tokens": bias is not None and not capabilities.bias,
    }
    for what, refused in asked.items():
        if refused:
            raise Unsupported(f"{model} does not offer {what}; use an agent that only needs replies.")
