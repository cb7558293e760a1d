"""A model whose calls are counted against a purse, and which stops the run where none of them can succeed."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from agent.config import Prices
from agent.evaluation.runs.budget import BudgetTracker, RunHalted, Stopped
from agent.models.base import Bias, Capabilities, Completion, Message, Model, Scores
from agent.models.openai.rate_limiter import RateLimited
from worlds.errors import ConfigurationError, ModelError


class MeteredModel:
    """Passes calls on to ``model`` while ``purse`` lets them begin; raises ``RunHalted`` where it does not.

    An error that every other call would meet alike is no matter of the episode that met it first: it stops them all.
    """

    def __init__(self, model: Model, purse: BudgetTracker, prices: Prices | None) -> None:
        self._model = model
        self._purse = purse
        self._prices = prices
        purse.listen(self._dismiss)

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def active(self) -> int:
        """How many calls are in flight; those that wait for the endpoint are not."""
        return self._model.gate.active if isinstance(self._model, RateLimited) else self._purse.calling

    @property
    def limit(self) -> int | None:
        """How many calls the endpoint takes at once; None while nothing has said so."""
        return self._model.gate.limit if isinstance(self._model, RateLimited) else None

    @property
    def brief(self) -> bool:
        return self._model.brief

    async def capabilities(self) -> Capabilities:
        return await self._model.capabilities()

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        stop: Sequence[str] = (),
        max_tokens: int = 512,
        temperature: float = 0.0,
        seed: int | None = None,
        top_logprobs: int = 0,
        choices: Sequence[str] | None = None,
        schema: Mapping[str, Any] | None = None,
        bias: Bias | None = None,
    ) -> Completion:
        completion: Completion | None = None
        self._purse.begin()
        try:
            with self._halting():
                completion = await self._model.complete(
                    messages,
                    stop=stop,
                    max_tokens=max_tokens,
                    temperature=temperature,
                    seed=seed,
                    top_logprobs=top_logprobs,
                    choices=choices,
                    schema=schema,
                    bias=bias,
                )
                return completion
        finally:
            self._purse.end(completion, self._prices)

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        scored: Completion | None = None
        with self._halting():
            calls = len(continuations) + 1 if (await self._model.capabilities()).singly else 1
        self._purse.begin(calls)
        try:
            with self._halting():
                scores = await self._model.score(messages, continuations)
                scored = Completion("", usage=scores.usage, timing=scores.timing)
                return scores
        finally:
            self._purse.end(scored, self._prices, calls)

    async def aclose(self) -> None:
        await self._model.aclose()

    @contextmanager
    def _halting(self) -> Generator[None]:
        try:
            yield
        except ModelError as error:
            if not error.fatal:
                raise
            self._purse.stop(Stopped(str(error)))
            raise RunHalted from error
        except ConfigurationError as error:
            self._purse.stop(error)
            raise RunHalted from error

    def _dismiss(self) -> None:
        if isinstance(self._model, RateLimited):
            self._model.gate.dismiss(RunHalted())
